/** Every operational error of the library. Codes are stable; messages state what was lost and what to do. */
export type ErrorCode =
  | 'contract_invalid'
  | 'configuration'
  | 'schema_missing'
  | 'schema_too_old'
  | 'schema_too_new'
  | 'wrong_environment'
  | 'wrong_server'
  | 'server_changed'
  | 'consumer_renamed'
  | 'consumer_halted'
  | 'topology_mismatch'
  | 'topology_unsafe'
  | 'broker_unreachable'
  | 'database_unreachable'
  | 'start_aborted'
  | 'publish_unroutable'
  | 'publish_refused'
  | 'producer_fenced'
  | 'publish_unconfirmed'
  | 'commit_not_confirmed'
  | 'tx_closed'
  | 'tx_error_swallowed'
  | 'tx_not_awaited'
  | 'tx_control'
  | 'tx_bypassed'
  | 'handler_timeout'
  | 'effect_conflict'
  | 'effect_unknown_target'
  | 'effect_closed'
  | 'effect_halted'
  | 'ownership_lost'
  | 'lease_lost'
  | 'position_moved'
  | 'records_lost'
  | 'retention_too_short'
  | 'behind_horizon'
  | 'clocks_disagree'
  | 'registry_unavailable'
  | 'schema_unknown'
  | 'schema_refused'
  | 'embedded_unavailable'
  | 'usage'

/** Every error of this library: a stable code, and a text that says what happened and what did not. */
export class OncewardError extends Error {
  override readonly name = 'OncewardError'
  readonly code: ErrorCode
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details ?? {}
  }
}

/** A condition that is false only if Onceward has a bug: stops the consumer, settles nothing. */
export function invariant(condition: unknown, what: string): asserts condition {
  if (!condition)
    throw new OncewardError('consumer_halted', `broken invariant: ${what}. Nothing was settled.`)
}

/** The text of any thrown value, shortened, safe to store and to print. */
export function errorText(error: unknown, lengthMax = 2_000): string {
  const text = error instanceof Error ? `${anyText(error.name)}: ${anyText(error.message)}` : anyText(error)
  return text.toWellFormed().replaceAll('\0', '\\0').slice(0, lengthMax)
}

/** The text of any value, also of objects that throw when converted. */
export function anyText(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}

/** The `code` of a thrown value if it has one (PostgreSQL, Node, ours), else its class name. */
export function errorCode(error: unknown): string {
  if (error !== null && typeof error === 'object') {
    const code = (error as { code?: unknown }).code
    if (typeof code === 'string' && code.length > 0) return code.slice(0, 100)
    if (error instanceof Error) return anyText(error.name).slice(0, 100)
  }
  return 'unknown'
}
