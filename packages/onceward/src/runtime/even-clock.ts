import { uptime } from 'node:os'
import type { Clock } from '../environment.ts'

export interface TimeSources {
  /** Runs evenly, and stands still while the machine is suspended. */
  readonly monotonicMs: () => number
  /** Jumps when somebody sets the date, and when a suspended machine wakes up. Cheap. */
  readonly wallMs: () => number
  /** Since the machine was started, its sleep included. Read from the system, so not for every call. */
  readonly bootMs: () => number
}

const real: TimeSources = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  bootMs: () => uptime() * 1_000,
}

/** Differences below this are the coarseness of the sources. */
const grainMs = 250
const lookMs = 1_000

/**
 * A clock for durations that counts what the machine slept through: a lease went on meanwhile, and whoever
 * trusts `performance.now` alone takes it for fresh when a laptop or a virtual machine wakes up. The date
 * only says when to look: setting it moves nothing.
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
