/** What one call came to, before anybody judges it. */
export type Answer =
  | HttpAnswer
  | ToldAnswer
  /** No byte of the request can have arrived. */
  | { readonly kind: 'not reached'; readonly error: string }
  /** It may have arrived, and may have taken effect. */
  | { readonly kind: 'lost'; readonly error: string }
  /** This row can never be sent as it is. */
  | { readonly kind: 'not sendable'; readonly error: string }

export interface HttpAnswer {
  readonly kind: 'answered'
  readonly status: number
  /** Of the beginning, up to `replyBytesMax`. */
  readonly body: Buffer
  readonly digest: Buffer
  /** `capped`: we stopped reading. `broken`: it ended too early, or dripped past the deadline. */
  readonly reply: 'whole' | 'capped' | 'broken'
  readonly retryAfterMs: number | null
  /** The target says that it had stored this answer for the key. */
  readonly replayed: boolean
}

/** The target, or the user's function that speaks to it, said plainly what became of it. */
export interface ToldAnswer {
  readonly kind: 'told'
  readonly result: 'completed' | 'retryable' | 'unknown' | 'failed'
  readonly status: number | null
  readonly digest: Buffer | null
  readonly note: string | null
  readonly retryAfterMs: number | null
  /** It refuses us, not this request. */
  readonly misconfigured?: boolean
}

export const replyBytesMax = 64 * 1024
