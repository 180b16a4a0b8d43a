import type { Reach } from './crash-points.ts'
import type { Metrics } from './telemetry/metrics.ts'
import type { Traces } from './telemetry/traces.ts'

/** Everything the engine knows about its environment; passed in, so that a simulator can replace it. */
export interface Environment {
  readonly clock: Clock
  readonly timers: Timers
  /** In [0, 1). */
  readonly random: () => number
  readonly log: Log
  readonly metrics: Metrics
  readonly traces: Traces
  readonly reach: Reach
}

/** The time of this process. The database's clock decides what is old. */
export interface Clock {
  /** For delays and durations, not for dates: monotonic, and includes the time a machine was suspended. */
  nowMs(): number
}

/** Timers of the environment; tests replace them. */
export interface Timers {
  /** Calls back once after `delayMs`; the returned function cancels. */
  after(delayMs: number, callback: () => void): () => void
  /**
   * Calls back after the current turn of the event loop, so that deliveries already received are included.
   */
  soon(callback: () => void): void
}

/** Structured log lines. The writer escapes values; message bodies are never logged. */
export interface Log {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  /** Whether lines of this level are written. Lines of other levels need not be built. Absent: all are. */
  isOn?(level: LogLevel): boolean
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export type LogFields = Readonly<Record<string, unknown>>

export const silent: Log = { debug() {}, info() {}, warn() {}, error() {}, isOn: () => false }
