import type { KnownConsumer } from '../drivers/postgres/evidence/find-subjects.ts'
import { type ConsumerMemory, readMemory, readPurgeDay } from '../drivers/postgres/evidence/read-memory.ts'
import type { SqlClient } from '../drivers/postgres/pool.ts'
import type { Absence } from './explanation.ts'
import { timeInId } from './read-time.ts'

/**
 * Explains why a consumer has no marker. `came`: another trace proves that the message arrived, so its marker
 * was removed. `at` is the marker's time, if known.
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
  if (dedup !== 'marker') return 'cannot be determined'
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
  const since = `since this consumer was registered on ${known.enrolledAt.toISOString()}`
  const purge =
    known.purgedBefore === null
      ? ''
      : `Markers written before ${known.purgedBefore.toISOString()} are removed (${known.purgedCount} so far, last at ${known.lastPurgeAt!.toISOString()}${known.keepDays === null ? '' : `, kept ${Math.round(known.keepDays)} days`}).`
  const where = known.action === 'archive' ? ' The archive has the removed markers.' : ''
  switch (verdict) {
    case 'never arrived':
      return `It never arrived: no delivery of it was committed here ${since}. ${purge}`.trim()
    case 'purged':
      return `Its marker was purged${day === null ? '' : ` on ${day}`}. ${purge}${where}`
    case 'purged or never arrived':
      return `It was purged${day === null ? '' : ` on ${day}, if it arrived at the time in its id`}, or never arrived. ${purge}${where}`
    case 'cannot be determined':
      return `This consumer deduplicates by ${dedup === 'version' ? 'the version in its own rows' : 'its position in the log'} and writes no marker for an applied message, so a missing marker proves nothing.`
  }
}

/** Other possible explanations. */
function caveats(
  verdict: Absence['verdict'],
  { losses, unidentified, copied, survivedTo }: ConsumerMemory,
): string[] {
  if (verdict === 'purged') return []
  return [
    'It may still be at the broker, or in flight.',
    ...(copied
      ? [
          `The database has changed its incarnation since, and may lack commits after ${survivedTo?.toISOString() ?? 'an unknown time'}: see "onceward restore".`,
        ]
      : []),
    ...(losses > 0 ? [`${losses} losses of log records were declared: see "onceward losses".`] : []),
    ...(unidentified ? ['Messages without a readable id are held: see "onceward parked list".'] : []),
  ]
}
