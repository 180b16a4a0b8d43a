import type { CrashPoint, Reach } from '../crash-points.ts'
import type { Environment, LogFields } from '../environment.ts'
import { type Metrics, unmeasured } from '../telemetry/metrics.ts'
import { untraced } from '../telemetry/traces.ts'

/** One line that was logged in a test. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields: LogFields
}

/** An environment in which time passes only when a test moves it. */
export interface TestEnvironment extends Environment {
  /** Moves the clock, fires due timers in order, and runs everything that follows from them. */
  advance(ms: number): Promise<void>
  /** Runs everything that needs neither time nor the network. */
  turn(): Promise<void>
  /** Times from now, ascending, at which a timer is due. */
  readonly due: readonly number[]
  readonly lines: readonly LogLine[]
  /** Metric calls, summed under `name` or `name label`. */
  readonly counted: ReadonlyMap<string, number>
  readonly reached: readonly CrashPoint[]
}

/** Parts of the environment that a test replaces. */
export interface TestEnvironmentOptions {
  /** A fixed number in [0, 1), or a function. Default 0.5. */
  readonly random?: number | (() => number)
  readonly reach?: Reach
}

/** An environment whose clock and timers a test moves. */
export function createTestEnvironment(options: TestEnvironmentOptions = {}): TestEnvironment {
  const { random = 0.5 } = options
  const timers = new ManualTimers()
  const lines: LogLine[] = []
  const counted = new Map<string, number>()
  const reached: CrashPoint[] = []
  const line =
    (level: LogLine['level']) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields })
  return {
    clock: { nowMs: () => timers.nowMs },
    timers: {
      after: (delayMs, callback) => timers.after(delayMs, callback),
      soon: callback => void setImmediate(callback),
    },
    random: typeof random === 'number' ? () => random : random,
    log: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
    metrics: countingMetrics(counted),
    traces: untraced,
    reach: point => {
      reached.push(point)
      options.reach?.(point)
    },
    advance: ms => timers.advance(ms),
    turn,
    get due() {
      return timers.due
    },
    lines,
    counted,
    reached,
  }
}

interface Timer {
  readonly atMs: number
  readonly callback: () => void
}

class ManualTimers {
  nowMs = 0
  readonly #timers = new Set<Timer>()

  get due(): number[] {
    return [...this.#timers].map(timer => timer.atMs - this.nowMs).sort((a, b) => a - b)
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { atMs: this.nowMs + Math.max(0, delayMs), callback }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  async advance(ms: number): Promise<void> {
    const end = this.nowMs + ms
    await turn()
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#timers.delete(next)
      this.nowMs = Math.max(this.nowMs, next.atMs)
      next.callback()
      await turn()
    }
    this.nowMs = end
  }

  /** The earliest timer not after `end`; of equals, the one set first. */
  #next(end: number): Timer | undefined {
    let next: Timer | undefined
    for (const timer of this.#timers) {
      if (timer.atMs <= end && (next === undefined || timer.atMs < next.atMs)) next = timer
    }
    return next
  }
}

/** Several turns of the event loop: work without timers, input or output has ended after them. */
async function turn(): Promise<void> {
  for (let turns = 0; turns < 10; turns++) await new Promise<void>(resolve => setImmediate(resolve))
}

/** Names of the catalogue, followed by the labels other than consumer and source. */
function countingMetrics(counted: Map<string, number>): Metrics {
  const add = (metric: string, count: number, labels: Readonly<Record<string, string | undefined>>) => {
    const shown = Object.keys(labels).filter(label => label !== 'consumer' && !label.startsWith('messaging.'))
    const name = [metric, ...shown.map(label => labels[label])].join(' ')
    counted.set(name, (counted.get(name) ?? 0) + count)
  }
  const counting: Metrics = {
    ...unmeasured,
    inMode: () => counting,
    add,
    record: (metric, _seconds, labels) => add(metric, 1, labels),
  }
  return counting
}
