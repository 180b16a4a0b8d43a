import type { KnownConsumer } from '../drivers/postgres/evidence/find-subjects.ts'
import { type ConsumerMemory, readMemory, readPurgeDay } from '../drivers/postgres/evidence/read-memory.ts'
import type { SqlClient } from '../drivers/postgres/pool.ts'
import type { Absence } from './explanation.ts'
import { timeInId } from './read-time.ts'

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
  const known = await readMemory(client, consumerId)
  const made = came?.at ?? (messageId === null ? null : await timeInId(client, messageId))
  const removed =
    made === null || known.purgedBefore === null || made >= known.purgedBefore
      ? null
      : await readPurgeDay(client, consumerId, made)
  const verdict = verdictOf(consumer, known, made, came !== null)
  return {
    consumer: consumer.consumer,
    generation,
    verdict,
    text: [sentence(verdict, known, removed, consumer.dedup), ...caveats(verdict, known)].join(' '),
    facts: { ...known, removedOn: removed, madeAt: made },
  }
}

function verdictOf(
  { dedup }: KnownConsumer,
  { purgedBefore }: ConsumerMemory,
  made: Date | null,
  came: boolean,
): Absence['verdict'] {
  if (dedup !== 'marker') return 'cannot be told'
  if (purgedBefore === null) return 'never arrived'
  if (came) return 'purged'
  if (made === null) return 'purged or never arrived'
  return made >= purgedBefore ? 'never arrived' : 'purged or never arrived'
}

function sentence(
  verdict: Absence['verdict'],
  known: ConsumerMemory,
  day: string | null,
  dedup: string,
): string {
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
  { losses, unidentified, copied, survivedTo }: ConsumerMemory,
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
