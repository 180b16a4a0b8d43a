const brand = Symbol.for('onceward.verdict')

/** The longest a timer can wait. */
const delayMaxMs = 2 ** 31 - 1

/**
 * What a handler may say instead of succeeding, by returning or throwing it:
 *
 * | verdict        | effect on the message                                        |
 * | -------------- | ------------------------------------------------------------ |
 * | `retryAfter`   | tried again after the delay, counted as an attempt           |
 * | `park`         | set aside durably; under key order later ones wait behind it |
 * | `ignore`       | valid, no effect required: marked and settled                |
 * | `reject`       | dead-lettered: never tried again by itself                   |
 */
export class Verdict {
  readonly [brand] = true
  readonly kind: 'retry' | 'park' | 'ignore' | 'reject'
  readonly reason: string
  readonly delayMs: number | null

  private constructor(kind: Verdict['kind'], reason: string, delayMs: number | null = null) {
    this.kind = kind
    this.reason = reason
    this.delayMs = delayMs
    Object.freeze(this)
  }

  static retryAfter(delayMs: number, reason = 'the handler asked to be called again'): Verdict {
    return new Verdict('retry', reason, Number.isFinite(delayMs) ? Math.max(0, delayMs) : delayMaxMs)
  }
  static park(reason: string): Verdict {
    return new Verdict('park', reason)
  }
  static ignore(reason: string): Verdict {
    return new Verdict('ignore', reason)
  }
  static reject(reason: string): Verdict {
    return new Verdict('reject', reason)
  }
}

/** Also true for a verdict of another installed copy of this package. */
export function isVerdict(value: unknown): value is Verdict {
  return value !== null && typeof value === 'object' && brand in value
}

export const { retryAfter, park, ignore, reject } = Verdict
