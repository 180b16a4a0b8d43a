import { type Answer, type HttpAnswer, replyBytesMax } from './answer.ts'

export type CallResult = 'completed' | 'retryable' | 'unknown' | 'failed'

export interface AnswerJudgement {
  readonly result: CallResult
  readonly status: number | null
  readonly digest: Buffer | null
  readonly note: string | null
  /** The beginning of a refusing reply. Evidence for operators, never logged. */
  readonly excerpt: string | null
  /** The target asks for a pause. */
  readonly retryAfterMs: number | null
  /** The target refused the credentials, not the request. Every other row would get the same answer. */
  readonly misconfigured: boolean
  /** The target has not started: no byte of the request arrived, or the target reported it. */
  readonly notStarted: boolean
  /** No call was made. The attempt is not counted. */
  readonly unsent: boolean
  /** While the outcome is in doubt, no further call can resolve it. */
  readonly mustNotRepeat: boolean
  /** The target's stored answer to the first call with this key, which ends all doubt. */
  readonly endsDoubt: boolean
}

export interface JudgeFacts {
  /** The target performs the work once per key, and its answers are read accordingly. */
  readonly keyed: boolean
  /** The answer to the previous attempt, if any. */
  readonly before: { readonly status: number | null; readonly digest: Buffer | null }
}

/** The target rejected the request before doing any work. */
const rejected = new Set([425, 429, 501, 505])
/**
 * With a key these mean the same, and so does 409: the first call with the key is in progress. Without a key
 * they are believed only with a Retry-After header. Proxies also answer 503 when the connection behind them
 * broke after the request was forwarded.
 */
const perhapsRejected = new Set([408, 503])

/**
 * Pure. 2xx means done. A rejection (busy, rate limited, the same key in progress) means not done, and the
 * call is retried. Other server errors may come after the effect: unknown. So may redirects: many
 * applications answer a POST they have carried out with 302 or 303, and a proxy may turn 307 and 308 into
 * either. An answer that the target replays from storage is no new evidence and will not change, so it is not
 * requested again. The remaining answers are refusals that an operator must examine, above all 422: the
 * target may know the key with other bytes.
 */
export function judgeAnswer(answer: Answer, facts: JudgeFacts): AnswerJudgement {
  switch (answer.kind) {
    case 'not reached':
      return { ...judgement('retryable', answer.error), notStarted: true }
    case 'lost':
      return judgement('unknown', answer.error)
    case 'not sendable':
      return notSent(answer.error, 'failed')
    case 'reported': {
      const { result, note, status, digest, retryAfterMs, misconfigured = false } = answer
      const notStarted = result === 'retryable'
      return { ...judgement(result, note), status, digest, retryAfterMs, misconfigured, notStarted }
    }
    default:
      return judgeHttp(answer, facts)
  }
}

function judgeHttp(answer: HttpAnswer, { keyed, before }: JudgeFacts): AnswerJudgement {
  const { status, digest, retryAfterMs, replayed } = answer
  const misconfigured = status === 401 || status === 403
  const facts = { status, digest, retryAfterMs, misconfigured }
  if (status >= 200 && status < 300) return { ...succeeded(answer), ...facts }
  const excerpt = excerptOf(answer.body)
  const reply = { ...facts, excerpt }
  if (replayed && saysNothing(status))
    return {
      ...judgement('unknown', `answered ${status} from storage: no new evidence`),
      ...reply,
      mustNotRepeat: true,
    }
  const believed = keyed || retryAfterMs !== null
  if (rejected.has(status) || (perhapsRejected.has(status) && believed) || (keyed && status === 409))
    return { ...judgement('retryable', `answered ${status}`), ...reply }
  if (saysNothing(status) || perhapsRejected.has(status)) {
    const again = before.status === status && before.digest?.equals(digest) === true
    const note = again ? 'the same as before: no new evidence' : 'which leaves open whether it took effect'
    return { ...judgement('unknown', `answered ${status}, ${note}${adviceFor(status)}`), ...reply }
  }
  return {
    ...judgement('failed', refusalOf(status)),
    ...reply,
    endsDoubt: keyed && replayed && status !== 422,
  }
}

/** A redirect or a server error: neither done nor refused. */
function saysNothing(status: number): boolean {
  return isRedirect(status) || status >= 500
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400
}

function adviceFor(status: number): string {
  return isRedirect(status) ? '; redirects are not followed, configure the final address' : ''
}

function succeeded({ status, reply }: HttpAnswer): AnswerJudgement {
  if (reply === 'broken') return judgement('unknown', `answered ${status}, but the reply broke off`)
  const long = `reply longer than ${replyBytesMax} bytes, the digest covers its beginning`
  return judgement('completed', reply === 'capped' ? long : null)
}

export function judgement(result: CallResult, note: string | null): AnswerJudgement {
  return {
    result,
    note,
    status: null,
    digest: null,
    excerpt: null,
    retryAfterMs: null,
    misconfigured: false,
    notStarted: false,
    unsent: false,
    mustNotRepeat: false,
    endsDoubt: false,
  }
}

/** Nothing was sent. The attempt is not counted. */
export function notSent(note: string, result: CallResult = 'retryable'): AnswerJudgement {
  return { ...judgement(result, note), notStarted: true, unsent: true }
}

const excerptMax = 500

function excerptOf(body: Buffer): string | null {
  const text = body.subarray(0, 4 * excerptMax).toString('utf8')
  return text === '' ? null : text.replaceAll('\0', '').slice(0, excerptMax).toWellFormed()
}

function refusalOf(status: number): string {
  if (status === 401 || status === 403) return `answered ${status}: the target refused the credentials`
  if (status === 422)
    return 'answered 422: the target refuses this request, or knows its key with other bytes'
  return `answered ${status}`
}
