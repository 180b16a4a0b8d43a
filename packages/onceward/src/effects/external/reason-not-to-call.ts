import type { LeasedEffect } from '../../drivers/postgres/ledger/lease-effects.ts'
import { type AnswerJudgement, judgement, notSent } from './judge-answer.ts'
import type { ExternalCaller } from './targets/target.ts'

/**
 * Pure. Why a claimed effect that may already have happened is neither queried nor sent; null when the policy
 * lets it go on. The state follows from the policy: `unknown` where it is declared at most once,
 * `reconciling` otherwise.
 */
export function reasonToStop(
  { doubtful, doubtMs }: Pick<LeasedEffect, 'doubtful' | 'doubtMs'>,
  { policy, doubtMaxMs }: Pick<ExternalCaller, 'policy' | 'doubtMaxMs'>,
): AnswerJudgement | null {
  if (!doubtful) return null
  if (policy === 'at most once')
    return notSent('it may have happened, and is declared at most once: not sent again', 'unknown')
  if (policy === 'manual') return notSent('it may have happened: a person must find out', 'unknown')
  if (doubtMs >= 0 && doubtMs <= doubtMaxMs) return null
  const note =
    doubtMs <= doubtMaxMs
      ? 'it may have happened, and the clock of the database was set back since: nobody knows whether the target still remembers the key. Reconcile before sending it again'
      : 'it may have happened, and the target may soon have forgotten the key: reconcile before sending it again'
  return { ...notSent(note, 'unknown'), idle: true }
}

/**
 * Pure. Why a call must not be made now. The lease began after we asked for it, so it outlasts the call if
 * there is still time for the whole of it.
 */
export function reasonNotToCall(
  { exhausted }: Pick<LeasedEffect, 'exhausted'>,
  { timeoutMs, leaseMs }: Pick<ExternalCaller, 'timeoutMs' | 'leaseMs'>,
  sinceAskedMs: number,
): AnswerJudgement | null {
  if (exhausted) return judgement('failed', 'all attempts are used up, and the last one was never recorded')
  if (sinceAskedMs + timeoutMs < leaseMs) return null
  return notSent('the claim took so long that its lease would not outlast the call; nothing was sent')
}
