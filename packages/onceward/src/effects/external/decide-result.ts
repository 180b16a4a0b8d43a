import { retryDelayMs } from '../../engine/retry-delay.ts'
import type { ClaimedEffect } from './claim-effects.ts'
import type { CallResult, Judgement } from './judge-answer.ts'
import type { Target } from './target.ts'

/** What the ledger row becomes; `delayMs` null means no dispatcher takes it again by itself. */
export interface Decision {
  readonly state: CallResult
  readonly delayMs: number | null
}

/** A target may ask for more than our longest delay, not for ever. */
const retryAfterMaxMs = 15 * 60_000

/**
 * Pure. Doubt sticks: once an attempt may have taken effect, only a completed one ends the doubt, so `failed` always means that
 * it did not happen and every row that might have is listed as `unknown`.
 */
export function decideResult(
  effect: Pick<ClaimedEffect, 'attempts' | 'doubtful'>,
  { result, retryAfterMs }: Judgement,
  target: Pick<Target, 'attemptsMax' | 'delayMs' | 'delayMaxMs'>,
  random: number,
): Decision {
  if (result === 'completed') return { state: 'completed', delayMs: null }
  const inDoubt = effect.doubtful || result === 'unknown'
  if (result === 'failed' || effect.attempts >= target.attemptsMax) {
    return { state: inDoubt ? 'unknown' : 'failed', delayMs: null }
  }
  const delayMs = retryDelayMs({ attempts: effect.attempts, random }, target)
  const askedMs = Math.min(retryAfterMs ?? 0, retryAfterMaxMs)
  return { state: inDoubt ? 'unknown' : 'retryable', delayMs: Math.max(delayMs, askedMs) }
}
