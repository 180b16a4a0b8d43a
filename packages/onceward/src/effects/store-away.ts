import { diagnose } from '../drivers/postgres/diagnose.ts'

/** True for troubles that end by themselves; the rest needs people. */
export function isPassing(error: unknown): boolean {
  const trouble = diagnose(error)
  return trouble === 'unavailable' || trouble === 'contention' || trouble === 'lock wait'
}

/** Half fixed, half jitter, at most 5 s: the wait before a database that was away is asked again. */
export function awayDelayMs(failures: number, random: number): number {
  return Math.floor((0.5 + random / 2) * Math.min(5_000, 50 * 2 ** Math.min(failures, 10)))
}
