const brand = Symbol.for('onceward.verdict')

/** The longest a timer can wait. */
const delayMaxMs = 2 ** 31 - 1

/** What a message waits for: its turn under `key`. */
export interface Waits {
  readonly key: string
  /** Its place among those that wait under the key. */
  readonly version: bigint
  /** After this long it is taken out all the same. */
  readonly withinMs: number
}

/**
 * What a handler may say instead of succeeding, by returning or throwing it:
 *
 * | verdict        | effect on the message                                        |
 * | -------------- | ------------------------------------------------------------ |
 * | `retryAfter`   | tried again after the delay, counted as an attempt           |
 * | `park`         | set aside durably; under key order later ones wait behind it |
 * | `ignore`       | valid, no effect required: marked and settled                |
 * | `applied`      | applied, with something to be said about it                  |
 * | `reject`       | dead-lettered: never tried again by itself                   |
 * | `stale`        | older than what is known already: marked so and settled      |
 * | `duplicate`    | its fact is known under another message id: marked, settled   |
 * | `quarantine`   | set aside as unsafe to try again by itself                   |
 * | `wait`         | kept durably until what it waits for is there, or too late   |
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
  /** A word for machines, as `illegal_transition`; the kind where nothing better is known. */
  readonly code: string
  readonly waits: Waits | null
  /** Under key order, later messages of its key are parked behind it until a person releases the key. */
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

  static retryAfter(
    delayMs: number,
    reason = 'the handler asked to be called again',
    code = 'retry',
  ): Verdict {
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

export const { retryAfter, park, ignore, reject, stale, quarantine } = Verdict
