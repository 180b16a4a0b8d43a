import type { Meter } from '@opentelemetry/api'
import { inert, type Reach } from '../crash-points.ts'
import { type Environment, type Log, silent } from '../environment.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { createTraces } from '../telemetry/traces.ts'
import { evenClock } from './even-clock.ts'

/** The clock, timers and randomness of this process. */
export function realEnvironment(
  options: { readonly log?: Log; readonly reach?: Reach; readonly meter?: Meter | undefined } = {},
): Environment {
  return {
    clock: evenClock(),
    timers: {
      after(delayMs, callback) {
        const timer = setTimeout(callback, Math.min(delayMs, 2 ** 31 - 1))
        return () => clearTimeout(timer)
      },
      soon: callback => void setImmediate(callback),
    },
    random: Math.random,
    log: options.log ?? silent,
    metrics: createMetrics(options.meter),
    traces: createTraces(),
    reach: options.reach ?? inert,
  }
}
