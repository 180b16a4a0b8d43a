import { uptime } from 'node:os'
import type { Clock } from '../environment.ts'

export interface TimeSources {
  /** Monotonic, but stops while the machine is suspended. */
  readonly monotonicMs: () => number
  /** Jumps when the date is set and when a suspended machine resumes. Cheap. */
  readonly wallMs: () => number
  /** Uptime including suspension. Read from the system, so not for every call. */
  readonly bootMs: () => number
}

const real: TimeSources = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  bootMs: () => uptime() * 1_000,
}

/** Smaller differences are the resolution of the sources. */
const grainMs = 250
const lookMs = 1_000

/**
 * A monotonic clock that includes suspension. A lease expires while the machine sleeps, and by
 * `performance.now` alone it would look fresh when a laptop or virtual machine resumes. The date only
 * triggers a check: setting it moves nothing.
 */
export function evenClock({ monotonicMs, wallMs, bootMs }: TimeSources = real): Clock {
  let sleptMs = 0
  let awakeMs = bootMs() - monotonicMs()
  let dateMs = wallMs() - monotonicMs()
  let lookedMs = monotonicMs()
  return {
    nowMs() {
      const nowMs = monotonicMs()
      const dateNowMs = wallMs() - nowMs
      if (Math.abs(dateNowMs - dateMs) > grainMs || nowMs - lookedMs > lookMs) {
        const slept = bootMs() - nowMs - awakeMs
        if (slept > grainMs) {
          sleptMs += slept
          awakeMs += slept
        }
        dateMs = dateNowMs
        lookedMs = nowMs
      }
      return nowMs + sleptMs
    },
  }
}
