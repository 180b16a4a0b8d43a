import type { LeasedEffect } from '../../drivers/postgres/ledger/lease-effects.ts'
import { type AnswerJudgement, judgement, notSent } from './judge-answer.ts'
import type { ExternalCaller } from './targets/target.ts'

/**
 * Pure. Why a leased effect that may already have happened is neither queried nor sent, or null when the
 * policy allows it. The policy determines the state: `unknown` for at most once, `reconciling` otherwise.
 */
export function reasonToStop(
  { doubtful, doubtMs }: Pick<LeasedEffect, 'doubtful' | 'doubtMs'>,
  { policy, doubtMaxMs }: Pick<ExternalCaller, 'policy' | 'doubtMaxMs'>,
): AnswerJudgement | null {
  if (!doubtful) return null
  if (policy === 'at most once')
    return notSent('it may have happened, and its policy is at most once: not sent again', 'unknown')
  if (policy === 'manual') return notSent('it may have happened: an operator must check', 'unknown')
  if (doubtMs >= 0 && doubtMs <= doubtMaxMs) return null
  const note =
    doubtMs <= doubtMaxMs
      ? 'it may have happened, and the database clock was set back since: the target may no longer remember the key. Reconcile before sending it again'
      : 'it may have happened, and the target may soon have forgotten the key: reconcile before sending it again'
  return { ...notSent(note, 'unknown'), mustNotRepeat: true }
}

/**
 * Pure. Why a call must not be made now. The lease began after it was requested, so it outlasts the call if
 * the remaining time covers the whole time-out.
 */
export function reasonNotToCall(
  { exhausted }: Pick<LeasedEffect, 'exhausted'>,
  { timeoutMs, leaseMs }: Pick<ExternalCaller, 'timeoutMs' | 'leaseMs'>,
  sinceRequestedMs: number,
): AnswerJudgement | null {
  if (exhausted) return judgement('failed', 'all attempts are used up, and the last one was never recorded')
  if (sinceRequestedMs + timeoutMs < leaseMs) return null
  return notSent('the lease took so long to obtain that it would not outlast the call; nothing was sent')
}
