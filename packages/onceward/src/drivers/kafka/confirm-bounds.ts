import { setTimeout as delay } from 'node:timers/promises'
import type { Bounds, KafkaClient } from './client/kafka-client.ts'

/** Where a reader stands: the next offset, and the leader epoch of the record before it, -1 when unknown. */
export interface Stand {
  readonly offset: number
  readonly leaderEpoch: number
}

const askAgainMs = 200
const steadyMs = 3_000
/**
 * A leader of an earlier epoch than that of a record we have read is one that was replaced, unless the
 * cluster was restored.
 */
const staleMs = 10_000

/**
 * The bounds of partitions, at once where each reaches as far as we know it did. A leader that has just taken
 * over may not know yet how far it may hand records over: then the end of its whole log counts. A log that is
 * shorter than that is asked for again until it has ended at the same place under the same leader epoch for a
 * while.
 */
export async function confirmBounds(
  client: Pick<KafkaClient, 'bounds' | 'logEnds'>,
  expected: ReadonlyMap<number, Stand>,
  { nowMs, pause } = steadyClock,
): Promise<ReadonlyMap<number, Bounds>> {
  for (let found = '', sinceMs = 0; ; await pause(askAgainMs)) {
    const bounds = new Map(await client.bounds([...expected.keys()]))
    const seemShort = [...bounds].filter(([partition, { end }]) => end < expected.get(partition)!.offset)
    if (seemShort.length === 0) return bounds
    const ends = await client.logEnds(seemShort.map(([partition]) => partition))
    for (const [partition, { start, end }] of seemShort)
      bounds.set(partition, { start, end: Math.max(end, ends.get(partition)!.end) })
    const short = [...bounds].filter(([partition, { end }]) => end < expected.get(partition)!.offset)
    if (short.length === 0) return bounds
    const now = short.map(([partition, { end }]) => `${partition}:${end}:${ends.get(partition)!.leaderEpoch}`)
    if (now.join() !== found) sinceMs = nowMs()
    found = now.join()
    const isStale = short.some(
      ([partition]) => ends.get(partition)!.leaderEpoch < expected.get(partition)!.leaderEpoch,
    )
    if (nowMs() - sinceMs >= (isStale ? staleMs : steadyMs)) return bounds
  }
}

const steadyClock = {
  nowMs: () => performance.now(),
  pause: (ms: number): Promise<unknown> => delay(ms, undefined, { ref: false }),
}
