import { diagnose } from '../drivers/postgres/diagnose.ts'

/** True for errors that end without intervention. The others need an operator. */
export function isTransient(error: unknown): boolean {
  const trouble = diagnose(error)
  return trouble === 'unavailable' || trouble === 'contention' || trouble === 'lock wait'
}

/** The delay before an unavailable database is tried again: half fixed, half jitter, at most 5 s. */
export function unavailableDelayMs(failures: number, random: number): number {
  return Math.floor((0.5 + random / 2) * Math.min(5_000, 50 * 2 ** Math.min(failures, 10)))
}
