import type { Log } from '../environment.ts'

/**
 * A system outside the database that an effect calls. `kind` selects the protocol, `policy` decides when a
 * call may be repeated.
 */
export type ExternalTarget = HttpTarget | WebhookTarget | EmailTarget | CustomTarget

/**
 * What the dispatcher may do after a call with an unknown outcome.
 *
 * - `keyed`: the target stores the idempotency key and does the work once; the dispatcher repeats the call
 *   with the same key and bytes.
 * - `query first`: the dispatcher calls `query`, and repeats the call only after the answer `not done`.
 * - `at most once`: never repeated; the row stays `unknown` until an operator resolves it.
 * - `manual`: never repeated automatically; the row is `reconciling` until an operator records the outcome.
 */
export type RepeatPolicy = 'keyed' | 'query first' | 'at most once' | 'manual'

/** A secret, given as the name of an environment variable. The dispatcher reads it when it starts. */
export interface Secret {
  readonly env: string
  /** Text before the value, such as `Bearer `. */
  readonly prefix?: string
}

export interface TargetTraits {
  /**
   * Default `keyed` for webhooks and for HTTP with a key header. E-mail, custom and keyless targets must
   * choose a policy.
   */
  policy?: RepeatPolicy
  /** Required by `query first`. Called before every repeat; must not change anything. */
  query?: (request: TargetRequest, context: TargetContext) => Promise<QueryAnswer>
  /**
   * Default 30 s: the wait between a call with an unknown outcome and the first query. A shorter wait could
   * mistake a call in progress for one that never happened.
   */
  queryDelayMs?: number
  /**
   * How long the target remembers a key. Default 24 h. Automatic repeats stop half of this time after the
   * first call that may have taken effect; the row is then `reconciling`.
   */
  keyLifetimeMs?: number
  /** Default 10 s, including the complete reply. After it the outcome is unknown, not failed. */
  timeoutMs?: number
  /**
   * Default 8. Then an operator decides: the row is `failed`, or `unknown` if a call may have taken effect.
   */
  attemptsMax?: number
  /**
   * First retry delay, doubled each time up to `retryDelayMaxMs`, with full jitter. Defaults 500 ms, 60 s.
   */
  retryDelayMs?: number
  retryDelayMaxMs?: number
  /** Calls in flight from one dispatcher. Default 16. */
  concurrencyMax?: number
  /** Calls per second from one dispatcher. Default: no limit. */
  ratePerSecondMax?: number
  /**
   * When the dispatcher stops calling a failing target. Default: after 20 failed calls in a row, for 10 s;
   * then one call at a time until one succeeds.
   */
  breaker?: BreakerOptions | false
}

export interface BreakerOptions {
  failuresMax?: number
  pauseMs?: number
}

/** Which addresses calls may reach. */
export interface OutboundTraits {
  /**
   * Allows plain http, any port, and addresses of private, loopback and link-local networks. Default false:
   * public https only.
   */
  allowPrivate?: boolean
  /** Default: 443 only. */
  ports?: readonly number[]
}

/** An HTTP endpoint. */
export interface HttpTarget extends TargetTraits, OutboundTraits {
  kind?: 'http'
  url: string
  /** Default POST. */
  method?: 'POST' | 'PUT' | 'PATCH'
  /** Sent with every call. Pass credentials as `{ env: 'NAME' }`. */
  headers?: Record<string, string | Secret>
  /**
   * The header that carries the key. Default `Idempotency-Key`. Null for a target that accepts no key; it
   * needs a policy other than `keyed`.
   */
  keyHeader?: string | null
  /** Default `Idempotent-Replayed`. The target sets it on an answer that it had stored for the key. */
  replayedHeader?: string
}

/** An HTTP endpoint whose receiver verifies the sender. Calls are signed as Standard Webhooks. */
export interface WebhookTarget extends TargetTraits, OutboundTraits {
  kind: 'webhook'
  url: string
  headers?: Record<string, string | Secret>
  /**
   * Key id → secret. Every call is signed with each secret. To rotate: add the new secret, wait until all
   * receivers have it, then remove the old one.
   */
  secrets: Record<string, Secret>
}

/** A mail server. SMTP has no idempotency keys: the policy is `at most once` or `manual`. */
export interface EmailTarget extends TargetTraits, Pick<OutboundTraits, 'allowPrivate'> {
  kind: 'email'
  host: string
  /** Default 465 with `implicit` TLS, otherwise 587. */
  port?: number
  /** Default `starttls`. `none` is accepted only with `allowPrivate`. */
  tls?: 'implicit' | 'starttls' | 'none'
  credentials?: { readonly user: Secret; readonly password: Secret }
  /** The envelope's sender and the From header. */
  from: string
  /** The domain of Message-IDs. Default: the sender's domain. */
  messageIdDomain?: string
}

/** Any other system: a search index, an object store, a vendor's library. */
export interface CustomTarget extends TargetTraits {
  kind: 'custom'
  /** Makes one attempt. An exception counts as `unknown`: the call may have taken effect. */
  call: (request: TargetRequest, context: TargetContext) => Promise<CallOutcome>
}

/** Identical for every attempt of one effect, except for `attempt`. */
export interface TargetRequest {
  readonly key: string
  readonly body: Uint8Array
  readonly contentType: string
  /** Starts at 1. */
  readonly attempt: number
}

/** What a custom target or a query receives beside the request. */
export interface TargetContext {
  readonly target: string
  /** Aborted at the target's timeout, and when the process stops. */
  readonly signal: AbortSignal
  readonly log: Log
}

/**
 * `completed`: the call took effect. `retryable`: it did not, and may be repeated. `failed`: it did not, and
 * a repeat would not help. `unknown`: it may have taken effect.
 */
export interface CallOutcome {
  readonly result: 'completed' | 'retryable' | 'unknown' | 'failed'
  /** Kept with the row: the reason, or the version the target now holds. */
  readonly note?: string
  readonly retryAfterMs?: number
  /** The row keeps its digest as evidence. */
  readonly response?: Uint8Array
}

/** What a target says about an earlier call with an unknown outcome. */
export type QueryAnswer = 'completed' | 'not done' | 'unknown'
