import type { ExternalTarget } from '../../contract/contract.ts'
import { errorText, OncewardError } from '../../errors.ts'

/** An external target with its defaults applied; made once, never changed. */
export interface Target {
  readonly name: string
  readonly url: URL
  readonly method: 'POST' | 'PUT' | 'PATCH'
  readonly headers: Readonly<Record<string, string>>
  readonly keyHeader: string
  readonly timeoutMs: number
  /** How long a claimed row belongs to its dispatcher: the whole call and a margin to record it. */
  readonly leaseMs: number
  readonly attemptsMax: number
  readonly delayMs: number
  readonly delayMaxMs: number
  readonly concurrencyMax: number
}

const leaseMarginMs = 10_000
const leaseMarginMinMs = 500

export function resolveTargets(
  targets: Readonly<Record<string, ExternalTarget>>,
  leaseMs: number | undefined,
): ReadonlyMap<string, Target> {
  return new Map(Object.entries(targets).map(([name, target]) => [name, resolve(name, target, leaseMs)]))
}

function resolve(name: string, target: ExternalTarget, leaseMs: number | undefined): Target {
  const timeoutMs = positive(name, 'timeoutMs', target.timeoutMs ?? 10_000)
  const resolved: Target = {
    name,
    url: readUrl(name, target.url),
    method: target.method ?? 'POST',
    headers: { ...target.headers },
    keyHeader: target.keyHeader ?? 'Idempotency-Key',
    timeoutMs,
    leaseMs: leaseMs ?? timeoutMs + leaseMarginMs,
    attemptsMax: positive(name, 'attemptsMax', target.attemptsMax ?? 8),
    delayMs: positive(name, 'retryDelayMs', target.retryDelayMs ?? 500),
    delayMaxMs: positive(name, 'retryDelayMaxMs', target.retryDelayMaxMs ?? 60_000),
    concurrencyMax: positive(name, 'concurrencyMax', target.concurrencyMax ?? 16),
  }
  if (resolved.leaseMs < timeoutMs + leaseMarginMinMs) {
    throw refused(
      name,
      `a lease of ${resolved.leaseMs} ms does not outlast a call of ${timeoutMs} ms by ${leaseMarginMinMs} ms`,
    )
  }
  try {
    new Headers(resolved.headers).set(resolved.keyHeader, 'key')
  } catch (error) {
    throw refused(name, `its headers cannot be sent: ${errorText(error, 200)}`)
  }
  return resolved
}

function readUrl(name: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw refused(name, 'its url is not an http or https address')
  }
  if (url.username !== '' || url.password !== '') {
    throw refused(name, 'its url carries credentials; put them in a header read from the environment')
  }
  return url
}

function positive(name: string, option: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value
  throw refused(name, `${option} must be a whole number above 0, not ${value}`)
}

function refused(name: string, why: string): OncewardError {
  return new OncewardError(
    'configuration',
    `External target "${name}" is refused: ${why}. No call was made, recorded intents wait.`,
  )
}
