import type { ClaimedEffect } from './claim-effects.ts'
import { type Judgement, judgement, notSent } from './judge-answer.ts'
import type { Target } from './target.ts'

/**
 * Pure. Why a claimed effect must not be sent now; null when it may. The lease began after we asked for it, so it outlasts the call
 * if asking took no longer than the margin.
 */
export function reasonNotToCall(
  { exhausted, doubtful, ageMs }: Pick<ClaimedEffect, 'exhausted' | 'doubtful' | 'ageMs'>,
  { timeoutMs, leaseMs }: Pick<Target, 'timeoutMs' | 'leaseMs'>,
  sinceAskedMs: number,
  doubtMaxMs: number,
): Judgement | null {
  if (exhausted) return judgement('failed', 'all attempts are used up, and the last one was never recorded')
  if (doubtful && ageMs > doubtMaxMs) {
    return judgement(
      'failed',
      'it may have happened, and the target may have forgotten the key by now: reconcile before sending it again',
    )
  }
  if (sinceAskedMs + timeoutMs < leaseMs) return null
  return notSent('the claim took so long that its lease would not outlast the call; nothing was sent')
}
