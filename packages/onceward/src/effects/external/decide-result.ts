import type { LeasedEffect } from '../../drivers/postgres/ledger/lease-effects.ts'
import { retryDelayMs } from '../../engine/retry/retry-delay.ts'
import type { AnswerJudgement, CallResult } from './judge-answer.ts'
import type { ExternalCaller } from './targets/target.ts'

export type DecidedState = CallResult | 'reconciling'

/** The next state of the ledger row. `delayMs` null: no dispatcher leases it again until an operator acts. */
export interface CallDecision {
  readonly state: DecidedState
  readonly delayMs: number | null
}

/** A target may ask for a pause beyond the longest delay, up to this limit. */
const retryAfterMaxMs = 15 * 60_000

/** Pure. The longest delay of a row of this target. */
export const longestDelayMs = ({
  delayMaxMs,
  queryDelayMs,
}: Pick<ExternalCaller, 'delayMaxMs' | 'queryDelayMs'>) => Math.max(delayMaxMs, queryDelayMs, retryAfterMaxMs)

/**
 * Pure. Once an attempt may have taken effect, only a completed attempt, a query or the target's stored
 * refusal ends the doubt. So `failed` always means that the effect did not happen. Every row whose effect may
 * have happened is `unknown` or `reconciling`.
 */
export function decideResult(
  effect: Pick<LeasedEffect, 'attempts' | 'attemptsForgiven' | 'doubtful'>,
  judged: AnswerJudgement,
  target: Pick<ExternalCaller, 'policy' | 'attemptsMax' | 'delayMs' | 'delayMaxMs' | 'queryDelayMs'>,
  random: number,
): CallDecision {
  const { result, retryAfterMs, mustNotRepeat } = judged
  const { policy } = target
  if (result === 'completed') return { state: 'completed', delayMs: null }
  const inDoubt = (effect.doubtful && !judged.endsDoubt) || result === 'unknown'
  if (inDoubt && (mustNotRepeat || policy === 'manual')) return { state: 'reconciling', delayMs: null }
  if (inDoubt && policy === 'at most once') return { state: 'unknown', delayMs: null }
  const attempts = effect.attempts - effect.attemptsForgiven
  const over = attempts >= target.attemptsMax || (policy === 'at most once' && !judged.notStarted)
  if (result === 'failed' || over) return { state: inDoubt ? 'unknown' : 'failed', delayMs: null }
  const delayMs = Math.max(
    retryDelayMs({ attempts: Math.max(1, attempts), random }, target),
    Math.min(retryAfterMs ?? 0, retryAfterMaxMs),
    inDoubt && policy === 'query first' ? target.queryDelayMs : 0,
  )
  return { state: inDoubt ? 'unknown' : 'retryable', delayMs }
}
