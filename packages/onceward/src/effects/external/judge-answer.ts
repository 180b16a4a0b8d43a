import { type Answer, replyBytesMax } from './call-target.ts'

export type CallResult = 'completed' | 'retryable' | 'unknown' | 'failed'

export interface Judgement {
  readonly result: CallResult
  readonly status: number | null
  readonly digest: Buffer | null
  readonly note: string | null
  /** The target asks for a pause. */
  readonly retryAfterMs: number | null
  /** The target refuses us, not the request: every other row would meet the same. */
  readonly misconfigured: boolean
  /** No call was made: the attempt is given back. */
  readonly unsent: boolean
}

/** Answers that say the request was turned away before anything was done. */
const turnedAway = new Set([408, 409, 425, 429, 501, 503, 505])

/**
 * Pure. 2xx happened. Turned away (busy, limited, the same key in progress) did not, and is tried again. Other
 * server errors may have come after the effect, and a target that replays answers gives the same 500 again, which is
 * no new evidence: unknown, tried again under the same key. What remains is a refusal people must look at.
 */
export function judgeAnswer(answer: Answer): Judgement {
  if (answer.kind !== 'answered') {
    const result = { 'not reached': 'retryable', lost: 'unknown', 'not sendable': 'failed' } as const
    return judgement(result[answer.kind], answer.error)
  }
  const { status, digest, retryAfterMs } = answer
  const facts = { status, digest, retryAfterMs, misconfigured: status === 401 || status === 403 }
  if (status >= 200 && status < 300) {
    if (answer.reply === 'broken')
      return { ...judgement('unknown', `answered ${status}, but the reply broke off`), ...facts }
    const note =
      answer.reply === 'capped'
        ? `reply longer than ${replyBytesMax} bytes, the digest covers its beginning`
        : null
    return { ...judgement('completed', note), ...facts }
  }
  if (turnedAway.has(status)) return { ...judgement('retryable', `answered ${status}`), ...facts }
  if (status >= 500)
    return {
      ...judgement('unknown', `answered ${status}, which does not say whether it took effect`),
      ...facts,
    }
  return { ...judgement('failed', refusalOf(status)), ...facts }
}

export function judgement(result: CallResult, note: string | null): Judgement {
  return {
    result,
    note,
    status: null,
    digest: null,
    retryAfterMs: null,
    misconfigured: false,
    unsent: false,
  }
}

export function notSent(note: string): Judgement {
  return { ...judgement('retryable', note), unsent: true }
}

function refusalOf(status: number): string {
  if (status === 401 || status === 403)
    return `answered ${status}: the target does not accept our credentials`
  if (status === 422)
    return 'answered 422: the target refuses this request, or knows its key with other bytes'
  if (status >= 300 && status < 400)
    return `answered ${status}: redirects are not followed, configure the final address`
  return `answered ${status}`
}
