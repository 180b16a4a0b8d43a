import type { Progress } from './progress.ts'
import { type WorkerName, workerNames } from './workers.ts'

/** When a process is killed: after a share of its work, plus a short delay. */
export interface PlannedKill {
  /** The share of the captures that it and its predecessors must have processed. */
  readonly share: number
  readonly delayMs: number
}

/** A run with fewer kills proves little. */
export const killsEachMin = 2

/** The number of kills per process, by the number of messages. */
export function killsEach(messages: number): number {
  return Math.max(killsEachMin, Math.min(4, Math.round(messages / 2_000)))
}

/**
 * Random moments, distributed over the work instead of the time, so a slow machine is killed mid-work as
 * often as a fast one.
 */
export function planKills(
  random: () => number,
  each: number,
): ReadonlyMap<WorkerName, readonly PlannedKill[]> {
  const moments = () =>
    Array.from({ length: each }, (_, n) => ({
      share: 0.02 + (0.85 * (n + random())) / each,
      delayMs: random() * 400,
    }))
  return new Map(workerNames.map(name => [name, moments()]))
}

export function shareDone(name: WorkerName, { applied, charges, captures }: Progress): number {
  return (name === 'dispatcher' ? charges : applied) / captures
}
