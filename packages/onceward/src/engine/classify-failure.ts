import type { FailureClass } from '../contract/contract.ts'
import { errorCode, errorText, OncewardError } from '../errors.ts'
import type { Failure } from './outcome.ts'

/** Defaults for codes of PostgreSQL (by class, the first two characters), Node and our own errors. */
const byCode: Record<string, FailureClass> = {
  ECONNREFUSED: 'transient',
  ECONNRESET: 'transient',
  EPIPE: 'transient',
  ETIMEDOUT: 'transient',
  ENOTFOUND: 'transient',
  EAI_AGAIN: 'transient',
  UND_ERR_SOCKET: 'transient',
  ABORT_ERR: 'transient',
  EACCES: 'configuration',
  '42501': 'configuration',
  '42P01': 'configuration',
  '42703': 'configuration',
  '42883': 'configuration',
  handler_timeout: 'transient',
  effect_conflict: 'corruption',
  effect_halted: 'configuration',
  effect_unknown_target: 'configuration',
  tx_error_swallowed: 'poison',
  tx_not_awaited: 'poison',
  tx_control: 'poison',
}
const bySqlClass: Record<string, FailureClass> = {
  '08': 'transient',
  '22': 'validation',
  '23': 'business conflict',
  '28': 'configuration',
  '3D': 'configuration',
  '3F': 'configuration',
  '40': 'transient',
  '53': 'overload',
  '55': 'transient',
  '57': 'transient',
  '58': 'transient',
}

/** The contract's own table first, by code then by class name; then the defaults; else unclassified, which retries. */
export function classifyFailure(error: unknown, classes: Readonly<Record<string, FailureClass>>): Failure {
  const code = errorCode(error)
  const name = error instanceof Error ? error.name : ''
  const declared = own(classes, code) ?? own(classes, name)
  return { class: declared ?? defaultClass(error, code), code, error: errorText(error) }
}

function defaultClass(error: unknown, code: string): Failure['class'] {
  const known = own(byCode, code)
  if (known !== undefined) return known
  if (error instanceof OncewardError) return 'unclassified'
  if (/^[0-9A-Z]{5}$/.test(code)) return own(bySqlClass, code.slice(0, 2)) ?? 'unclassified'
  return httpClass(error) ?? 'unclassified'
}

function httpClass(error: unknown): FailureClass | null {
  const status = error !== null && typeof error === 'object' ? (error as { status?: unknown }).status : null
  if (typeof status !== 'number') return null
  if (status === 429) return 'rate limited'
  if (status === 401 || status === 403) return 'configuration'
  if (status >= 500) return 'overload'
  return null
}

function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined
}
