const brand = Symbol.for('onceward.verdict')

/** The longest delay of a timer. */
const delayMaxMs = 2 ** 31 - 1

/** What a message waits for: its turn under `key`. */
export interface Waits {
  readonly key: string
  /** Its place among the messages that wait under the key. */
  readonly version: bigint
  /** After this time the message stops waiting. */
  readonly withinMs: number
}

/**
 * What a handler may return or throw instead of succeeding:
 *
 * | verdict        | outcome of the message                                              |
 * | -------------- | ------------------------------------------------------------------- |
 * | `retryAfter`   | retried after the delay; counts as an attempt                       |
 * | `park`         | parked; with order by key, later messages of the key wait behind it |
 * | `ignore`       | valid, but needs no effect: marked and settled                      |
 * | `applied`      | applied, with a remark                                              |
 * | `reject`       | dead-lettered: never retried automatically                          |
 * | `stale`        | older than the current state: marked as stale and settled           |
 * | `duplicate`    | its event is known under another message id: marked and settled     |
 * | `quarantine`   | quarantined: unsafe to retry automatically                          |
 * | `wait`         | stored until the awaited version arrives, or time runs out          |
 */
export class Verdict {
  readonly [brand] = true
  readonly kind:
    | 'retry'
    | 'park'
    | 'ignore'
    | 'applied'
    | 'duplicate'
    | 'reject'
    | 'stale'
    | 'quarantine'
    | 'wait'
  readonly reason: string
  readonly delayMs: number | null
  /** A code for machines, such as `illegal_transition`; by default the kind. */
  readonly code: string
  readonly waits: Waits | null
  /** With order by key: later messages of the key are parked behind it until an operator releases the key. */
  readonly blocksKey: boolean

  private constructor(
    kind: Verdict['kind'],
    reason: string,
    { delayMs = null, code = kind, waits = null, blocksKey = kind === 'park' }: Partial<Verdict> = {},
  ) {
    this.kind = kind
    this.reason = reason
    this.delayMs = delayMs
    this.code = code
    this.waits = waits
    this.blocksKey = blocksKey
    Object.freeze(this)
  }

  static retryAfter(delayMs: number, reason = 'the handler asked for a retry', code = 'retry'): Verdict {
    const bounded = Number.isFinite(delayMs) ? Math.max(0, delayMs) : delayMaxMs
    return new Verdict('retry', reason, { delayMs: bounded, code })
  }
  static park(reason: string, code = 'park'): Verdict {
    return new Verdict('park', reason, { code })
  }
  static ignore(reason: string, code = 'ignore'): Verdict {
    return new Verdict('ignore', reason, { code })
  }
  static applied(reason: string, code = 'applied'): Verdict {
    return new Verdict('applied', reason, { code })
  }
  static reject(reason: string, code = 'reject'): Verdict {
    return new Verdict('reject', reason, { code })
  }
  static stale(reason: string, code = 'stale'): Verdict {
    return new Verdict('stale', reason, { code })
  }
  static duplicate(reason: string, code = 'duplicate'): Verdict {
    return new Verdict('duplicate', reason, { code })
  }
  static quarantine(reason: string, code = 'quarantine', { blocksKey = false } = {}): Verdict {
    return new Verdict('quarantine', reason, { code, blocksKey })
  }
  static wait(reason: string, waits: Waits): Verdict {
    return new Verdict('wait', reason, { waits })
  }
}

/** Also true for a verdict of another installed copy of this package. */
export function isVerdict(value: unknown): value is Verdict {
  return value !== null && typeof value === 'object' && brand in value
}

/** The message failed; it is tried again after the delay. Counts as an attempt. */
export const retryAfter = Verdict.retryAfter
/** The message needs a person. With order `key`, later messages of its key wait behind it. */
export const park = Verdict.park
/** There is nothing to do for the message. */
export const ignore = Verdict.ignore
/** The message can never be applied: it is dead-lettered, and later messages pass it. */
export const reject = Verdict.reject
/** The message is older than what is known. */
export const stale = Verdict.stale
/** The bytes of the message cannot be trusted: they are kept apart for a person. */
export const quarantine = Verdict.quarantine
