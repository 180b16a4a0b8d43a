import type { ReadableMessage, Received } from '../../message/received.ts'
import type { BrakeRules } from './brake.ts'

/**
 * Two kinds of probes: a message that has not failed yet, because those that did may be faulty themselves,
 * and one that has, because a handler may fail at the first try of each message.
 */
export type ProbeKind = 'untried' | 'tried'

interface Schedule {
  failures: number
  untilMs: number
}

/** Most ids and keys that are remembered as failed. */
const rememberedMax = 10_000

/** A paused event type: which messages failed, and when the next probe of each kind is due. */
export class TypePause {
  readonly cause: string
  readonly #rules: BrakeRules
  readonly #keyOf: (received: Received) => string
  readonly #failed = new Set<string>()
  readonly #failedKeys = new Set<string>()
  readonly #schedules: Record<ProbeKind, Schedule>
  #latestTried: string | null = null

  /** The first probes are due after `firstPauseMs`. */
  constructor(
    cause: string,
    rules: BrakeRules,
    nowMs: number,
    firstPauseMs: number,
    ofKey: (received: Received) => string = keyOf,
  ) {
    this.cause = cause
    this.#rules = rules
    this.#keyOf = ofKey
    const untilMs = nowMs + firstPauseMs
    this.#schedules = { untried: { failures: 0, untilMs }, tried: { failures: 0, untilMs } }
  }

  get failedCount(): number {
    return this.#failed.size
  }

  kindOf({ id, delivery }: Received): ProbeKind {
    return this.#failed.has(id!) || (delivery.held?.attempts ?? 0) > 0 ? 'tried' : 'untried'
  }

  /** Zero if a probe of the kind is due. */
  waitMs(kind: ProbeKind, nowMs: number): number {
    return Math.max(0, this.#schedules[kind].untilMs - nowMs)
  }

  /** The next pause if a probe of the kind fails now. */
  pauseMs(kind: ProbeKind): number {
    const { pauseMs, pauseMaxMs } = this.#rules
    return Math.min(pauseMaxMs, pauseMs * 2 ** Math.min(this.#schedules[kind].failures + 1, 30))
  }

  /** The message with the highest rank is the probe: one of another key, or the one that was tried before. */
  rank(received: ReadableMessage): number {
    if (this.kindOf(received) === 'tried') return received.id === this.#latestTried ? 1 : 0
    return this.#failedKeys.has(this.#keyOf(received)) ? 0 : 1
  }

  failed(received: Received): void {
    if (this.#failed.size < rememberedMax) this.#failed.add(received.id!)
    if (this.#failedKeys.size < rememberedMax) this.#failedKeys.add(this.#keyOf(received))
  }

  probeFailed(received: Received, nowMs: number): void {
    const kind = this.kindOf(received)
    const schedule = this.#schedules[kind]
    schedule.untilMs = nowMs + this.pauseMs(kind)
    schedule.failures++
    if (kind === 'tried') this.#latestTried = received.id
    this.failed(received)
  }
}

/** The key of a message without one is its id. */
export function keyOf(received: Received): string {
  return (received.readable ? received.orderKey : null) ?? received.id!
}

/** '' for messages without a type. */
export function typeOf(received: Received): string {
  return (received.readable ? received.envelope.type : null) ?? ''
}
