import type { Log } from '../environment.ts'

/**
 * Something outside the database that an effect reaches. The kind says how it is spoken to, the policy when
 * it may be asked twice.
 */
export type ExternalTarget = HttpTarget | WebhookTarget | EmailTarget | CustomTarget

/**
 * What may be done after a call that may have taken effect.
 *
 * - `keyed`: the target keeps our key and does the work once; the call is repeated with the same key and
 *   bytes.
 * - `query first`: `query` is asked whether it happened, and only after `not done` the call is repeated.
 * - `at most once`: never repeated; the row stays `unknown` for people.
 * - `manual`: never repeated by itself; the row is `reconciling` until a person says what happened.
 */
export type RepeatPolicy = 'keyed' | 'query first' | 'at most once' | 'manual'

/** A value that is not for the file: the name of an environment variable, read when the dispatcher starts. */
export interface Secret {
  readonly env: string
  /** Put before the value, as `Bearer ` is. */
  readonly prefix?: string
}

export interface TargetTraits {
  /**
   * Default `keyed` for HTTP with a key header and for webhooks; e-mail, custom and keyless targets must say.
   */
  policy?: RepeatPolicy
  /** Needed by `query first`. Called before every repeat; must not change anything. */
  query?: (request: TargetRequest, context: TargetContext) => Promise<QueryAnswer>
  /**
   * Default 30 s: how long after a lost call the first query waits, so that a call still under way is not
   * taken for none.
   */
  queryDelayMs?: number
  /**
   * How long the target remembers a key. Default 24 h. Half of it after the first call that may have taken
   * effect, nothing is repeated by itself any more: the row is `reconciling`.
   */
  keyLifetimeMs?: number
  /** Default 10 s, over everything including the whole reply. After it the result is unknown, not failed. */
  timeoutMs?: number
  /** Default 8. Then the row waits for people: `failed`, or `unknown` when it may have happened. */
  attemptsMax?: number
  /** First retry delay, doubled each time up to `retryDelayMaxMs`, full jitter. Defaults 500 ms, 60 s. */
  retryDelayMs?: number
  retryDelayMaxMs?: number
  /** Calls in flight from one dispatcher. Default 16. */
  concurrencyMax?: number
  /** Calls a second from one dispatcher. Default without limit. */
  ratePerSecondMax?: number
  /**
   * When a target that fails is left alone. Default after 20 failed calls in a row, for 10 s, then one call
   * at a time until one succeeds.
   */
  breaker?: BreakerOptions | false
}

export interface BreakerOptions {
  failuresMax?: number
  pauseMs?: number
}

/** Where calls may go. */
export interface OutboundTraits {
  /**
   * Plain http, any port, and addresses of private, loopback and link-local networks. Default false: public
   * https only.
   */
  allowPrivate?: boolean
  /** Default 443 alone. */
  ports?: readonly number[]
}

/** An HTTP endpoint. */
export interface HttpTarget extends TargetTraits, OutboundTraits {
  kind?: 'http'
  url: string
  /** Default POST. */
  method?: 'POST' | 'PUT' | 'PATCH'
  /** Sent with every call. Credentials are given as `{ env: 'NAME' }`. */
  headers?: Record<string, string | Secret>
  /**
   * Default `Idempotency-Key`. Null for a target that takes no key, which then needs another policy than
   * `keyed`.
   */
  keyHeader?: string | null
  /** Default `Idempotent-Replayed`: present in an answer that the target had stored for this key. */
  replayedHeader?: string
}

/** An HTTP endpoint of somebody who checks who is calling. Signed as Standard Webhooks are. */
export interface WebhookTarget extends TargetTraits, OutboundTraits {
  kind: 'webhook'
  url: string
  headers?: Record<string, string | Secret>
  /**
   * Key id → secret. Every call is signed with each of them: to rotate, add the new one, wait for the
   * receivers, take the old one out.
   */
  secrets: Record<string, Secret>
}

/** A mail server. SMTP knows no keys: the policy is `at most once` or `manual`. */
export interface EmailTarget extends TargetTraits, Pick<OutboundTraits, 'allowPrivate'> {
  kind: 'email'
  host: string
  /** Default 465 with TLS from the start, 587 with STARTTLS. */
  port?: number
  /** Default `starttls`. `none` only together with `allowPrivate`. */
  tls?: 'implicit' | 'starttls' | 'none'
  credentials?: { readonly user: Secret; readonly password: Secret }
  /** The envelope's sender and the From header. */
  from: string
  /** The right side of Message-IDs. Default the sender's domain. */
  messageIdDomain?: string
}

/** Anything else: a search index, an object store, a vendor's library. */
export interface CustomTarget extends TargetTraits {
  kind: 'custom'
  /** One attempt. A throw counts as unknown: it may have happened. */
  call: (request: TargetRequest, context: TargetContext) => Promise<CallOutcome>
}

/** The same for every attempt of one effect, except for `attempt`. */
export interface TargetRequest {
  readonly key: string
  readonly body: Uint8Array
  readonly contentType: string
  /** From 1. */
  readonly attempt: number
}

export interface TargetContext {
  readonly target: string
  /** Aborted at the target's time-out and when the process leaves. */
  readonly signal: AbortSignal
  readonly log: Log
}

/**
 * `completed` happened, `retryable` surely did not, `failed` surely did not and never will, `unknown` may
 * have.
 */
export interface CallOutcome {
  readonly result: 'completed' | 'retryable' | 'unknown' | 'failed'
  /** Kept with the row: why, or what version the target now holds. */
  readonly note?: string
  readonly retryAfterMs?: number
  /** Its digest is kept as evidence. */
  readonly response?: Uint8Array
}

export type QueryAnswer = 'completed' | 'not done' | 'unknown'
