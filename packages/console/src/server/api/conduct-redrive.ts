import { setTimeout } from 'node:timers/promises'
import { defaultRamp, rampRedrive, runRedrive, type SqlPool } from 'onceward/operations'

/** Redrives that this process moves, and the error that interrupted one. The database has everything else. */
export const conducted = new Map<string, { ended: boolean; text: string | null }>()

const pause = (ms: number) => setTimeout(ms)

/**
 * Moves a redrive in the background. If this process ends, the redrive stays as it is, and a person continues
 * it; two processes that move one redrive alternate, so nothing is moved twice.
 */
export function conductRedrive(pool: SqlPool, requestId: string, ramp: boolean): void {
  if (conducted.get(requestId)?.ended === false) return
  if (conducted.size > 1_000) conducted.clear()
  const note: { ended: boolean; text: string | null } = { ended: false, text: null }
  conducted.set(requestId, note)
  const run = ramp
    ? rampRedrive(pool, requestId, defaultRamp, { pause })
    : runRedrive(pool, requestId, { pause })
  void run
    .catch(error => {
      note.text = `It was interrupted: ${(error as Error).message} Continue it.`
    })
    .finally(() => {
      note.ended = true
    })
}
