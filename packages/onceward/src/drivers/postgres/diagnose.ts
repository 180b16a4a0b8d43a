import type { StoreTrouble } from '../../ports/store.ts'
import { tlsRefusal } from '../tls/tls-refusal.ts'
import { isStalePlan } from './statements/prepare-policy.ts'

const connectionCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
])
const connectionTexts =
  /connection terminated|connection ended|client has encountered a connection error|timeout exceeded when trying to connect|query read timeout|not queryable|cannot use a pool after|server closed the connection|server conn crashed|server_login_retry|pgbouncer|client was closed|timeout acquiring a connection|unable to acquire a connection|connection has been discarded|driver has already been destroyed/i

/** By SQLSTATE; without one, by the error of Node or the client for a lost connection. */
export function diagnose(error: unknown): StoreTrouble {
  if (error === null || typeof error !== 'object') return 'statement'
  const { code, message, cause } = error as { code?: unknown; message?: unknown; cause?: unknown }
  if (isStalePlan(error)) return 'contention'
  if (typeof code === 'string') {
    if (connectionCodes.has(code)) return 'unavailable'
    if (code === 'commit_not_confirmed') return diagnose(cause)
    if (code === 'wrong_server') return 'unavailable'
    if (tlsRefusal(error) !== null) return 'configuration'
    if (/^[0-9A-Z]{5}$/.test(code)) return bySqlState(code, String(message ?? ''))
  }
  return typeof message === 'string' && connectionTexts.test(message) ? 'unavailable' : 'statement'
}

function bySqlState(code: string, message: string): StoreTrouble {
  if (code === '40001' || code === '40P01') return 'contention'
  if (code === '55P03') return 'lock wait'
  if (code === '25P02') return 'victim'
  if (code === '57014') return 'statement' // its own time limit: lock waits have 55P03
  // Idle in a transaction, or too long in one; read-only, as on a standby.
  if (code === '25P03' || code === '25P04' || code === '25006') return 'unavailable'
  if (code === '42501' || code === '42P01' || code === '42703' || code === '42883') return 'configuration'
  switch (code.slice(0, 2)) {
    case '08': // connection exception; PgBouncer reports most of its own troubles here
      return connectionTexts.test(message) || code !== '08P01' ? 'unavailable' : 'statement'
    case '53': // insufficient resources: disk full, too many connections
    case '57': // operator intervention: shutdown, crash recovery, cancelled
    case '58': // system error
    case 'XX':
      return 'unavailable'
    case '28':
    case '3D':
    case '3F':
      return 'configuration'
    default:
      return 'statement'
  }
}
