import type { Progress } from './progress.ts'
import { type WorkerName, workerNames } from './workers.ts'

/** When a process is killed: so far into its own work, and then a moment later. */
export interface PlannedKill {
  /** Share of the captures it must have dealt with, its predecessors included. */
  readonly share: number
  readonly delayMs: number
}

/** A run that killed less proves little, whatever it found. */
export const killsEachMin = 2

/** How often each process is killed in a run of so many messages. */
export function killsEach(messages: number): number {
  return Math.max(killsEachMin, Math.min(4, Math.round(messages / 2_000)))
}

/**
 * Random moments, spread over the work rather than the clock, so that a slow machine is hit as often in the
 * middle of it as a fast one.
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
