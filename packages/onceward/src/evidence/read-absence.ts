import type { SqlClient } from '../drivers/postgres/pool.ts'
import type { Absence } from './explanation.ts'
import type { KnownConsumer } from './find-subjects.ts'
import { timeInId } from './read-time.ts'

interface Memory {
  readonly enrolledAt: Date
  readonly purgedBefore: Date | null
  readonly purgedCount: number | null
  readonly lastPurgeAt: Date | null
  readonly action: string | null
  readonly keepDays: number | null
  readonly losses: number
  readonly unidentified: boolean
  /**
   * The database has become another copy since the consumer began; the last commit such a copy is sure to
   * have.
   */
  readonly copied: boolean
  readonly survivedTo: Date | null
}

const memory = `
  select c.registered_at as "enrolledAt", h.purged_before as "purgedBefore", h.purged_count::float8 as "purgedCount",
    h.at as "lastPurgeAt", r.action, (extract(epoch from r.keep) / 86400)::float8 as "keepDays",
    (select count(*)::integer from onceward.loss g where g.consumer_id = c.id and g.withdrawn_reason is null) as losses,
    exists (select from onceward.held w where w.consumer_id = c.id and w.message_id is null and w.state in ('parked', 'dead', 'quarantined'))
      as unidentified,
    copy.detected_at is not null as copied, copy.complete_until as "survivedTo"
  from onceward.consumer c
  left join onceward.horizon h on h.consumer_id = c.id
  left join onceward.retention r on r.consumer_id = c.id and r.kind = 'markers'
  left join lateral (
    select l.detected_at, l.complete_until from onceward.server_incarnation l where l.detected_at > c.registered_at and l.id > (
      select min(id) from onceward.server_incarnation) order by l.id desc limit 1) copy on true
  where c.id = $1`

const dayOf = `
  select day::text, before from onceward.purged
  where consumer_id = $1 and kind = 'markers' and before > $2::timestamptz order by day limit 1`

/**
 * What it means that a consumer has no marker. `came`: something else proves that the message was here; then
 * its marker was removed, and `at` is when it was written, as far as that is known.
 */
export async function readAbsence(
  client: SqlClient,
  consumer: KnownConsumer,
  messageId: string | null,
  came: { readonly at: Date | null } | null = null,
): Promise<Absence> {
  const { consumerId, generation } = consumer
  const known = (await client.query(memory, [consumerId])).rows[0] as Memory
  const made = came?.at ?? (messageId === null ? null : await timeInId(client, messageId))
  const removed =
    made === null || known.purgedBefore === null || made >= known.purgedBefore
      ? null
      : (await client.query(dayOf, [consumerId, made])).rows[0]
  const verdict = verdictOf(consumer, known, made, came !== null)
  return {
    consumer: consumer.consumer,
    generation,
    verdict,
    text: [sentence(verdict, known, removed?.day ?? null, consumer.dedup), ...caveats(verdict, known)].join(
      ' ',
    ),
    facts: { ...known, removedOn: removed?.day ?? null, madeAt: made },
  }
}

function verdictOf(
  { dedup }: KnownConsumer,
  { purgedBefore }: Memory,
  made: Date | null,
  came: boolean,
): Absence['verdict'] {
  if (dedup !== 'marker') return 'cannot be told'
  if (purgedBefore === null) return 'never arrived'
  if (came) return 'purged'
  if (made === null) return 'purged or never arrived'
  return made >= purgedBefore ? 'never arrived' : 'purged or never arrived'
}

function sentence(verdict: Absence['verdict'], known: Memory, day: string | null, dedup: string): string {
  const since = `since this consumer began on ${known.enrolledAt.toISOString()}`
  const purge =
    known.purgedBefore === null
      ? ''
      : `Markers written before ${known.purgedBefore.toISOString()} are removed (${known.purgedCount} so far, last at ${known.lastPurgeAt!.toISOString()}${known.keepDays === null ? '' : `, kept ${Math.round(known.keepDays)} days`}).`
  const where = known.action === 'archive' ? ' The archive has what was removed.' : ''
  switch (verdict) {
    case 'never arrived':
      return `It never arrived: no delivery of it was ever committed here, ${since}. ${purge}`.trim()
    case 'purged':
      return `Its marker was purged${day === null ? '' : ` on ${day}`}. ${purge}${where}`
    case 'purged or never arrived':
      return `It was purged${day === null ? '' : ` on ${day}, if it came when its id says it was made`}, or never arrived. ${purge}${where}`
    case 'cannot be told':
      return `This consumer remembers by ${dedup === 'version' ? 'the version in its own rows' : 'its position in the log'} and keeps no marker of a message that got through, so its absence says nothing.`
  }
}

/** What else may have become of it. */
function caveats(
  verdict: Absence['verdict'],
  { losses, unidentified, copied, survivedTo }: Memory,
): string[] {
  if (verdict === 'purged') return []
  return [
    'It may still be at the broker, or under way.',
    ...(copied
      ? [
          `This database became another copy of itself meanwhile, and may lack what was committed after ${survivedTo?.toISOString() ?? 'an unknown time'}: see "onceward restore".`,
        ]
      : []),
    ...(losses > 0 ? [`${losses} gaps of its log were declared: see "onceward losses".`] : []),
    ...(unidentified ? ['Messages without a readable id are held: see "onceward parked list".'] : []),
  ]
}
