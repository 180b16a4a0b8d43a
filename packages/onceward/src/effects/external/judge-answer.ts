import { type Answer, type HttpAnswer, replyBytesMax } from './answer.ts'

export type CallResult = 'completed' | 'retryable' | 'unknown' | 'failed'

export interface AnswerJudgement {
  readonly result: CallResult
  readonly status: number | null
  readonly digest: Buffer | null
  readonly note: string | null
  /** The beginning of a reply that says no: evidence for people, never logged. */
  readonly excerpt: string | null
  /** The target asks for a pause. */
  readonly retryAfterMs: number | null
  /** The target refuses us, not the request: every other row would meet the same. */
  readonly misconfigured: boolean
  /** No byte of the request can have arrived. */
  readonly unreached: boolean
  /** No call was made: the attempt is given back. */
  readonly unsent: boolean
  /** The same call would only bring the same answer: repeating it proves nothing. */
  readonly idle: boolean
  /**
   * The target's stored answer to the first call with this key: whatever was in doubt, this is how it ended.
   */
  readonly endsDoubt: boolean
}

export interface JudgeFacts {
  /** The target does the work once per key, and its answers are to be read that way. */
  readonly keyed: boolean
  /** What the attempt before was answered, if anything. */
  readonly before: { readonly status: number | null; readonly digest: Buffer | null }
}

/** Answers that say the request was turned away before anything was done. */
const turnedAway = new Set([425, 429, 501, 505])
/**
 * Under a key the same, and 409: the first call with it is in progress. Without one they are believed only
 * with a time to come back: proxies say 503 also when the connection behind them broke after the request was
 * passed on.
 */
const perhapsTurnedAway = new Set([408, 503])

/**
 * Pure. 2xx happened. Turned away (busy, limited, the same key in progress) did not, and is tried again.
 * Other server errors may have come after the effect: unknown. So may redirects: 302 and 303 are how many
 * applications answer a POST they have carried out, and a proxy may turn 307 and 308 into either. One that
 * the target replays from its memory is no new evidence and never will be another: it is not asked for again.
 * What remains is a refusal people must look at, 422 above all: the target may know the key with other bytes.
 */
export function judgeAnswer(answer: Answer, facts: JudgeFacts): AnswerJudgement {
  switch (answer.kind) {
    case 'not reached':
      return { ...judgement('retryable', answer.error), unreached: true }
    case 'lost':
      return judgement('unknown', answer.error)
    case 'not sendable':
      return notSent(answer.error, 'failed')
    case 'told': {
      const { result, note, status, digest, retryAfterMs, misconfigured = false } = answer
      // Who says plainly that it was not done has not begun it.
      return { ...judgement(result, note), status, digest, retryAfterMs, misconfigured, unreached: true }
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
  const said = { ...facts, excerpt }
  if (replayed && saysNothing(status))
    return {
      ...judgement('unknown', `answered ${status} from its memory: no new evidence`),
      ...said,
      idle: true,
    }
  const believed = keyed || retryAfterMs !== null
  if (turnedAway.has(status) || (perhapsTurnedAway.has(status) && believed) || (keyed && status === 409))
    return { ...judgement('retryable', `answered ${status}`), ...said }
  if (saysNothing(status) || perhapsTurnedAway.has(status)) {
    const again = before.status === status && before.digest?.equals(digest) === true
    const note = again ? 'the same as before: no new evidence' : 'which does not say whether it took effect'
    return { ...judgement('unknown', `answered ${status}, ${note}${adviceFor(status)}`), ...said }
  }
  return {
    ...judgement('failed', refusalOf(status)),
    ...said,
    endsDoubt: keyed && replayed && status !== 422,
  }
}

/** Neither done nor refused: a redirect or a server error. */
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
    unreached: false,
    unsent: false,
    idle: false,
    endsDoubt: false,
  }
}

/** Nothing was sent; the attempt is given back. */
export function notSent(note: string, result: CallResult = 'retryable'): AnswerJudgement {
  return { ...judgement(result, note), unreached: true, unsent: true }
}

const excerptMax = 500

function excerptOf(body: Buffer): string | null {
  const text = body.subarray(0, 4 * excerptMax).toString('utf8')
  return text === '' ? null : text.replaceAll('\0', '').slice(0, excerptMax).toWellFormed()
}

function refusalOf(status: number): string {
  if (status === 401 || status === 403)
    return `answered ${status}: the target does not accept our credentials`
  if (status === 422)
    return 'answered 422: the target refuses this request, or knows its key with other bytes'
  return `answered ${status}`
}
