import { setTimeout as sleep } from 'node:timers/promises'
import type { Place } from '../place.ts'
import type { Load } from '../workload.ts'

export interface Task {
  /** Name of the queue, topic or stream. */
  readonly queue: string
  /** Who reads a log, as its broker knows it. */
  readonly group: string
  /** Of a log; 1 of a queue. */
  readonly partitions: number
  readonly load: Load
}

/** Consumes the whole task; resolves with the seconds from the start of consumption to the last ack. */
export type Consume = (task: Task) => Promise<number>

/** Opened once in a process of its own, then called once per round, as a long-lived consumer would be. */
export type OpenContender = (place: Place) => Promise<Consume>

export function startClock(): () => number {
  const began = performance.now()
  return () => (performance.now() - began) / 1_000
}

/**
 * Not timed. A quorum queue takes acks in a moment after the channel did; a channel closed within that moment
 * returns some of the last messages, to any consumer.
 */
export function letAcksArrive(): Promise<void> {
  return sleep(200)
}
