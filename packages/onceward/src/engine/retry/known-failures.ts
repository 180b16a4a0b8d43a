import { policyWords } from '../../contract/failure-rules.ts'
import type { FailureClass } from '../../contract/failure-section.ts'
import type { Failure } from '../batch/outcome.ts'

type Known = Readonly<Record<string, Failure['class']>>

/** Codes and class names of PostgreSQL, Node, undici and our own errors. */
export const byCode: Known = {
  ...policyWords,
  ECONNREFUSED: 'transient',
  ECONNRESET: 'transient',
  ECONNABORTED: 'transient',
  EHOSTUNREACH: 'transient',
  EHOSTDOWN: 'transient',
  ENETUNREACH: 'transient',
  ENETDOWN: 'transient',
  ENETRESET: 'transient',
  EPIPE: 'transient',
  ETIMEDOUT: 'transient',
  ENOTFOUND: 'transient',
  EAI_AGAIN: 'transient',
  ERR_STREAM_PREMATURE_CLOSE: 'transient',
  ERR_SOCKET_CONNECTION_TIMEOUT: 'transient',
  UND_ERR_SOCKET: 'transient',
  UND_ERR_CONNECT_TIMEOUT: 'transient',
  UND_ERR_HEADERS_TIMEOUT: 'transient',
  UND_ERR_BODY_TIMEOUT: 'transient',
  UND_ERR_CLOSED: 'transient',
  UND_ERR_DESTROYED: 'transient',
  UND_ERR_ABORTED: 'transient',
  ABORT_ERR: 'transient',
  AbortError: 'transient',
  TimeoutError: 'transient',
  EMFILE: 'overload',
  ENFILE: 'overload',
  ENOSPC: 'overload',
  EACCES: 'configuration',
  CERT_HAS_EXPIRED: 'configuration',
  CERT_NOT_YET_VALID: 'configuration',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'configuration',
  SELF_SIGNED_CERT_IN_CHAIN: 'configuration',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'configuration',
  ERR_TLS_CERT_ALTNAME_INVALID: 'configuration',
  '25006': 'transient',
  '40001': 'contention',
  '40P01': 'contention',
  '42501': 'configuration',
  '42P01': 'configuration',
  '44000': 'business conflict',
  XX001: 'configuration',
  XX002: 'configuration',
  handler_timeout: 'transient',
  registry_unavailable: 'transient',
  schema_unknown: 'configuration',
  schema_refused: 'configuration',
  effect_conflict: 'corruption',
  effect_halted: 'configuration',
  effect_unknown_target: 'configuration',
  tx_error_swallowed: 'poison',
  tx_not_awaited: 'poison',
  tx_control: 'poison',
}

/** Errors about the contract itself. They concern every message, and halt the consumer. */
export const haltingCodes: ReadonlySet<string> = new Set(['effect_halted', 'effect_unknown_target'])

/**
 * The database cannot serve any client: disk full, out of connections, starting up, I/O error. This is never
 * the message's fault.
 */
const ofDatabase: ReadonlySet<string> = new Set(['53000', '53100', '53300', '57P03', '58030'])

/** Memory or locks, and limits of the session. All statements may reach them, or only one message's. */
const ofDatabaseOrMessage: ReadonlySet<string> = new Set(['53200', '53400'])

export function databaseWide(code: string): Failure['databaseWide'] {
  if (ofDatabase.has(code)) return 'always'
  return ofDatabaseOrMessage.has(code) ? 'unless others pass' : undefined
}

/** By the first two characters of an SQLSTATE. */
export const bySqlClass: Known = {
  '08': 'transient',
  '22': 'validation',
  '23': 'business conflict',
  '28': 'configuration',
  '3D': 'configuration',
  '3F': 'configuration',
  '40': 'transient',
  '42': 'poison',
  '53': 'overload',
  '55': 'transient',
  '57': 'transient',
  '58': 'transient',
}

/** Ambiguous answers such as 404 have no class. */
export function httpClass(status: number): FailureClass | undefined {
  if (status === 429) return 'rate limited'
  if (status === 401 || status === 403 || status === 407) return 'configuration'
  if (status === 408 || status === 425) return 'transient'
  if (status === 409 || status === 412) return 'business conflict'
  if (status === 400 || status === 413 || status === 415 || status === 422) return 'validation'
  return status >= 500 ? 'overload' : undefined
}
