/** The raw result of one call, before `judgeAnswer`. */
export type Answer =
  | HttpAnswer
  | ReportedAnswer
  /** No byte of the request can have arrived. */
  | { readonly kind: 'not reached'; readonly error: string }
  /** It may have arrived, and may have taken effect. */
  | { readonly kind: 'lost'; readonly error: string }
  /** This row can never be sent as it is. */
  | { readonly kind: 'not sendable'; readonly error: string }

export interface HttpAnswer {
  readonly kind: 'answered'
  readonly status: number
  /** The first bytes, up to `replyBytesMax`. */
  readonly body: Buffer
  readonly digest: Buffer
  /**
   * `capped`: the dispatcher stopped reading. `broken`: the reply ended too early or ran past the deadline.
   */
  readonly reply: 'whole' | 'capped' | 'broken'
  readonly retryAfterMs: number | null
  /** The target marked this answer as stored for the key. */
  readonly replayed: boolean
}

/** The target, or the user's function that calls it, reported the outcome explicitly. */
export interface ReportedAnswer {
  readonly kind: 'reported'
  readonly result: 'completed' | 'retryable' | 'unknown' | 'failed'
  readonly status: number | null
  readonly digest: Buffer | null
  readonly note: string | null
  readonly retryAfterMs: number | null
  /** The target refused the connection or the credentials, not this request. */
  readonly misconfigured?: boolean
}

export const replyBytesMax = 64 * 1024
