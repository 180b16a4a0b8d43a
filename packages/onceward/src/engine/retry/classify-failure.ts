import type { FailureClass } from '../../contract/failure-section.ts'
import { errorCode, errorText } from '../../errors.ts'
import type { Failure } from '../batch/outcome.ts'
import { byCode, bySqlClass, databaseWide, httpClass } from './known-failures.ts'

/** At most this many wrapped or aggregated errors are examined. */
const chainMax = 16

/**
 * Consults the contract's classes first, then the defaults; otherwise the failure is unclassified, which
 * retries. Both look at the error and its causes from the outside in: `fetch failed` is not specific, but its
 * cause shows that the connection was refused.
 */
export function classifyFailure(error: unknown, classes: Readonly<Record<string, FailureClass>>): Failure {
  const signs = chainOf(error).map(signsOf)
  const declared = declaredIn(signs, classes)
  const found = declared ?? lookUp(signs, known)
  const wide = declared === null && found !== null ? databaseWide(found.code) : undefined
  return {
    class: found?.class ?? 'unclassified',
    code: found?.code ?? signs[0]!.code,
    error: errorText(error),
    exception: exceptionOf(error),
    place: placeOf(error),
    ...(wide !== undefined && { databaseWide: wide }),
  }
}

/**
 * Whether a statement of a handler failed for a reason that concerns every message: a refused login, or a
 * missing table or right. A missing column or function is a mistake of this handler, and a code that the
 * contract lists follows its class.
 */
export function concernsEveryMessage(
  error: unknown,
  classes: Readonly<Record<string, FailureClass>>,
): boolean {
  const signs = chainOf(error).map(signsOf)
  return declaredIn(signs, classes) === null && lookUp(signs, known)?.class === 'configuration'
}

function declaredIn(signs: readonly Signs[], classes: Readonly<Record<string, FailureClass>>) {
  return lookUp(signs, one => declared(one, classes))
}

/** The properties of an error that identify its class. */
interface Signs {
  readonly code: string
  readonly name: string
  readonly sqlState: string | null
  readonly status: number | null
}

function lookUp<C extends Failure['class']>(
  signs: readonly Signs[],
  classOf: (one: Signs) => C | undefined,
): { readonly class: C; readonly code: string } | null {
  for (const one of signs) {
    const found = classOf(one)
    if (found !== undefined) return { class: found, code: one.code }
  }
  return null
}

function declared(
  { code, name, sqlState, status }: Signs,
  classes: Readonly<Record<string, FailureClass>>,
): FailureClass | undefined {
  return (
    own(classes, code) ??
    own(classes, name) ??
    (sqlState === null ? undefined : own(classes, `${sqlState.slice(0, 2)}xxx`)) ??
    (status === null
      ? undefined
      : (own(classes, String(status)) ?? own(classes, `${Math.floor(status / 100)}xx`)))
  )
}

function known({ code, name, sqlState, status }: Signs): Failure['class'] | undefined {
  return (
    own(byCode, code) ??
    own(byCode, name) ??
    (sqlState === null ? undefined : own(bySqlClass, sqlState.slice(0, 2))) ??
    (status === null ? undefined : httpClass(status))
  )
}

/** The error, its causes and the members of aggregates, each once. Any of them may be hostile. */
function chainOf(error: unknown): unknown[] {
  const chain: unknown[] = [error]
  for (let at = 0; at < chain.length && chain.length < chainMax; at++) {
    const inside = [read(chain[at], 'cause'), ...listOf(read(chain[at], 'errors'))]
    for (const one of inside) {
      const more = one !== null && typeof one === 'object' && !chain.includes(one)
      if (more && chain.length < chainMax) chain.push(one)
    }
  }
  return chain
}

function signsOf(error: unknown): Signs {
  const code = codeOf(error)
  const name = read(error, 'name')
  const response = read(error, 'response')
  const statuses = [
    read(error, 'status'),
    read(error, 'statusCode'),
    read(response, 'status'),
    read(response, 'statusCode'),
  ]
  return {
    code,
    name: typeof name === 'string' ? name : '',
    sqlState: /^[0-9A-Z]{5}$/.test(code) && /\d/.test(code) ? code : null,
    status: (statuses.find(isStatus) as number | undefined) ?? null,
  }
}

/** By its constructor: the `name` of a driver's error is often just `error`. */
function exceptionOf(error: unknown): string {
  try {
    return (error as object).constructor.name.slice(0, 100)
  } catch {
    return ''
  }
}

function codeOf(error: unknown): string {
  try {
    return errorCode(error)
  } catch {
    return 'unknown'
  }
}

function isStatus(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 100 && (value as number) <= 599
}

function read(value: unknown, name: string): unknown {
  try {
    return value !== null && typeof value === 'object' ? (value as Record<string, unknown>)[name] : undefined
  } catch {
    return undefined
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, chainMax) : []
}

/**
 * Where the error was thrown, as `capture (payment-capture.ts:42)`: the first frame outside Node and
 * libraries. '' if unknown.
 */
function placeOf(error: unknown): string {
  const stack = read(error, 'stack')
  if (typeof stack !== 'string') return ''
  for (const line of stack.slice(0, 8_000).split('\n')) {
    const frame = /^\s+at (?:(?:async )?(.{1,100}?) \()?(?:file:\/\/)?(.*?):(\d+):\d+\)?$/.exec(line)
    if (frame === null || /^node:|[/\\]node_modules[/\\]/.test(frame[2]!)) continue
    const file = frame[2]!.split(/[/\\]/).at(-1)!
    const where = `${file}:${frame[3]}`.slice(0, 120)
    return (frame[1] === undefined ? where : `${frame[1]} (${where})`).toWellFormed().replaceAll('\0', '')
  }
  return ''
}

function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined
}
