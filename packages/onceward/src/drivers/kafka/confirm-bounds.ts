import { setTimeout as delay } from 'node:timers/promises'
import type { Bounds, KafkaClient } from './client/kafka-client.ts'

/** A reader's position: the next offset, and the leader epoch of the record before it, -1 when unknown. */
export interface Stand {
  readonly offset: number
  readonly leaderEpoch: number
}

const askAgainMs = 200
const steadyMs = 3_000
/**
 * How long to wait for a leader whose epoch is older than that of a record already read. Such a leader was
 * replaced, unless the cluster was restored.
 */
const staleMs = 10_000

/**
 * Reads the bounds of partitions, and returns at once when each log reaches the expected offset. A new leader
 * may not know its high watermark yet, so the end of its whole log counts. A log shorter than expected is
 * queried again until its end and its leader epoch stay the same for a while.
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
