import type { ExternalTarget } from '../../../contract/external-target.ts'
import { withDefaults } from '../../../contract/options/defaults.ts'
import { targetProblems } from '../../../contract/target-problems.ts'
import { OncewardError } from '../../../errors.ts'
import { customSend } from './custom-target.ts'
import { emailSend } from './email-target.ts'
import { httpSend } from './http-target.ts'
import type { ExternalCaller, Send } from './target.ts'
import { webhookSend } from './webhook-target.ts'

/** Reads an environment variable; undefined when it is not set. */
export type ReadVariable = (name: string) => string | undefined

const leaseMarginMs = 10_000
const leaseMarginMinMs = 500

export interface TargetOwner {
  readonly consumerName: string
  readonly readVariable?: ReadVariable
  readonly leaseMs?: number | undefined
}

export function resolveTargets(
  targets: Readonly<Record<string, ExternalTarget>>,
  owner: TargetOwner,
): ReadonlyMap<string, ExternalCaller> {
  return new Map(Object.entries(targets).map(([name, target]) => [name, resolveTarget(name, target, owner)]))
}

/**
 * Applies the defaults. Throws one error that names the target and the field. No call is made, and intents
 * wait.
 */
export function resolveTarget(name: string, target: ExternalTarget, owner: TargetOwner): ExternalCaller {
  const problems: string[] = []
  targetProblems(name, target, (place, text) => problems.push(`${place} ${text}`))
  if (problems.length > 0) throw refused(name, problems.join('; '))
  const { leaseMs } = owner
  const whole = withDefaults('effect.external.*', target)
  const { timeoutMs, policy, queryDelayMs } = whole
  // A query right after a takeover must find a call that was in progress when its dispatcher crashed.
  const leaseMinMs = policy === 'query first' ? 2 * timeoutMs + queryDelayMs : timeoutMs + leaseMarginMinMs
  if (policy !== 'query first' && leaseMs !== undefined && leaseMs < leaseMinMs)
    throw refused(
      name,
      `a lease of ${leaseMs} ms does not outlast a call of ${timeoutMs} ms by ${leaseMarginMinMs} ms`,
    )
  return {
    name,
    policy,
    query: target.query ?? null,
    queryDelayMs,
    doubtMaxMs: whole.keyLifetimeMs / 2,
    timeoutMs,
    leaseMs: Math.max(leaseMs ?? timeoutMs + leaseMarginMs, leaseMinMs),
    attemptsMax: whole.attemptsMax,
    delayMs: whole.retryDelayMs,
    delayMaxMs: whole.retryDelayMaxMs,
    concurrencyMax: whole.concurrencyMax,
    ratePerSecondMax: target.ratePerSecondMax ?? Number.POSITIVE_INFINITY,
    breaker: target.breaker === false ? null : withDefaults('effect.external.*.breaker', target.breaker),
    send: sendOf(name, target, owner),
  }
}

function sendOf(name: string, target: ExternalTarget, { consumerName, readVariable }: TargetOwner): Send {
  const secret = ({ env, prefix = '' }: { env: string; prefix?: string }): string => {
    const value = readVariable?.(env)
    if (value === undefined || value === '') throw refused(name, `the environment variable ${env} is not set`)
    if (!/^[\t\x20-\x7e]+$/.test(value)) throw refused(name, `the value of ${env} is not one line of ASCII`)
    return prefix + value
  }
  switch (target.kind) {
    case 'webhook':
      return webhookSend(target, secret, why => refused(name, why))
    case 'email':
      return emailSend({ consumerName, name }, target, secret, why => refused(name, why))
    case 'custom':
      return customSend(name, target)
    default:
      return httpSend(target, secret)
  }
}

export type ReadSecret = (secret: { env: string; prefix?: string }) => string

function refused(name: string, why: string): OncewardError {
  return new OncewardError(
    'configuration',
    `External target "${name}" is refused: ${why}. No call was made; recorded intents wait.`,
  )
}
