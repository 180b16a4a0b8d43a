import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type HttpAnswer, replyBytesMax } from '../../src/effects/external/answer.ts'
import {
  type AnswerJudgement,
  type JudgeFacts,
  judgeAnswer,
  judgement,
  notSent,
} from '../../src/effects/external/judge-answer.ts'

const digest = Buffer.from('digest')
const nothing = { status: null, digest: null }

function answered(status: number, changes: Partial<HttpAnswer> = {}): HttpAnswer {
  return {
    kind: 'answered',
    status,
    body: Buffer.from('why'),
    digest,
    reply: 'whole',
    retryAfterMs: null,
    replayed: false,
    ...changes,
  }
}

const judge = (answer: HttpAnswer, keyed = true, before: JudgeFacts['before'] = nothing) =>
  judgeAnswer(answer, { keyed, before })

describe('the judgement of an answer', () => {
  test('says nothing beyond its result and note, unless the answer does', () => {
    assert.deepEqual(judgement('failed', 'n'), {
      result: 'failed',
      note: 'n',
      status: null,
      digest: null,
      excerpt: null,
      retryAfterMs: null,
      misconfigured: false,
      notStarted: false,
      unsent: false,
      mustNotRepeat: false,
      endsDoubt: false,
    })
  })

  const http: [number, 'keyed' | 'unkeyed', AnswerJudgement['result'], string | null][] = [
    [200, 'keyed', 'completed', null],
    [299, 'unkeyed', 'completed', null],
    [
      300,
      'keyed',
      'unknown',
      'answered 300, which leaves open whether it took effect; redirects are not followed, configure the final address',
    ],
    [
      302,
      'unkeyed',
      'unknown',
      'answered 302, which leaves open whether it took effect; redirects are not followed, configure the final address',
    ],
    [
      399,
      'unkeyed',
      'unknown',
      'answered 399, which leaves open whether it took effect; redirects are not followed, configure the final address',
    ],
    [400, 'keyed', 'failed', 'answered 400'],
    [401, 'keyed', 'failed', 'answered 401: the target refused the credentials'],
    [403, 'unkeyed', 'failed', 'answered 403: the target refused the credentials'],
    [404, 'unkeyed', 'failed', 'answered 404'],
    [408, 'keyed', 'retryable', 'answered 408'],
    [408, 'unkeyed', 'unknown', 'answered 408, which leaves open whether it took effect'],
    [409, 'keyed', 'retryable', 'answered 409'],
    [409, 'unkeyed', 'failed', 'answered 409'],
    [
      422,
      'keyed',
      'failed',
      'answered 422: the target refuses this request, or knows its key with other bytes',
    ],
    [425, 'unkeyed', 'retryable', 'answered 425'],
    [429, 'unkeyed', 'retryable', 'answered 429'],
    [499, 'keyed', 'failed', 'answered 499'],
    [500, 'keyed', 'unknown', 'answered 500, which leaves open whether it took effect'],
    [501, 'unkeyed', 'retryable', 'answered 501'],
    [503, 'keyed', 'retryable', 'answered 503'],
    [503, 'unkeyed', 'unknown', 'answered 503, which leaves open whether it took effect'],
    [505, 'unkeyed', 'retryable', 'answered 505'],
    [599, 'unkeyed', 'unknown', 'answered 599, which leaves open whether it took effect'],
    [199, 'unkeyed', 'failed', 'answered 199'],
  ]
  for (const [status, key, result, note] of http)
    test(`${status}, ${key}: ${result}`, () => {
      assert.deepEqual(judge(answered(status), key === 'keyed'), {
        ...judgement(result, note),
        status,
        digest,
        excerpt: result === 'completed' ? null : 'why',
        misconfigured: status === 401 || status === 403,
      })
    })

  test('a time to wait makes 408 and 503 believable without a key, and is kept', () => {
    for (const status of [408, 503]) {
      const { result, retryAfterMs } = judge(answered(status, { retryAfterMs: 5 }), false)
      assert.deepEqual([result, retryAfterMs], ['retryable', 5])
    }
    assert.equal(judge(answered(500, { retryAfterMs: 5 }), false).result, 'unknown')
  })

  test('a reply that broke off is unknown, a capped one is complete with a note', () => {
    assert.deepEqual(judge(answered(200, { reply: 'broken' })), {
      ...judgement('unknown', 'answered 200, but the reply broke off'),
      status: 200,
      digest,
    })
    const note = `reply longer than ${replyBytesMax} bytes, the digest covers its beginning`
    assert.deepEqual(judge(answered(200, { reply: 'capped' })), {
      ...judgement('completed', note),
      status: 200,
      digest,
    })
  })

  test('a stored answer without a result is not requested again; a stored refusal ends all doubt', () => {
    for (const status of [302, 500, 503]) {
      const stored = judge(answered(status, { replayed: true }))
      assert.deepEqual([stored.result, stored.mustNotRepeat, stored.endsDoubt], ['unknown', true, false])
      assert.equal(stored.note, `answered ${status} from storage: no new evidence`)
      assert.equal(stored.excerpt, 'why')
    }
    const endsDoubt = (status: number, keyed: boolean, replayed = true) =>
      judge(answered(status, { replayed }), keyed).endsDoubt
    assert.deepEqual(
      [endsDoubt(400, true), endsDoubt(400, false), endsDoubt(400, true, false), endsDoubt(422, true)],
      [true, false, false, false],
    )
  })

  test('the same error as before is no new evidence', () => {
    const note = (before: JudgeFacts['before']) => judge(answered(500), true, before).note
    const again = 'answered 500, the same as before: no new evidence'
    const open = 'answered 500, which leaves open whether it took effect'
    assert.equal(note({ status: 500, digest: Buffer.from('digest') }), again)
    assert.equal(note({ status: 500, digest: Buffer.from('other') }), open)
    assert.equal(note({ status: 502, digest }), open)
    assert.equal(note({ status: 500, digest: null }), open)
  })

  test('an excerpt is well-formed, without zero bytes, and 500 characters at most', () => {
    const excerpt = (body: Buffer) => judge(answered(400, { body })).excerpt
    assert.equal(excerpt(Buffer.alloc(0)), null)
    assert.equal(excerpt(Buffer.from('a\0b')), 'ab')
    assert.equal(excerpt(Buffer.from('é'.repeat(900))), 'é'.repeat(500))
    assert.equal(excerpt(Buffer.from(`${'x'.repeat(499)}😀`)), `${'x'.repeat(499)}\ufffd`)
  })

  test('what was not reached, lost or not sendable', () => {
    const facts = { keyed: false, before: nothing }
    assert.deepEqual(judgeAnswer({ kind: 'not reached', error: 'e' }, facts), {
      ...judgement('retryable', 'e'),
      notStarted: true,
    })
    assert.deepEqual(judgeAnswer({ kind: 'lost', error: 'e' }, facts), judgement('unknown', 'e'))
    assert.deepEqual(judgeAnswer({ kind: 'not sendable', error: 'e' }, facts), notSent('e', 'failed'))
    assert.deepEqual(notSent('e'), { ...judgement('retryable', 'e'), notStarted: true, unsent: true })
  })

  test('a report is taken as it is; only a retryable one says that nothing began', () => {
    const facts = { keyed: false, before: nothing }
    for (const result of ['completed', 'retryable', 'unknown', 'failed'] as const) {
      const report = { result, note: 'n', status: 7, digest, retryAfterMs: 3 }
      assert.deepEqual(judgeAnswer({ kind: 'reported', ...report }, facts), {
        ...judgement(result, 'n'),
        ...report,
        notStarted: result === 'retryable',
      })
      assert.equal(
        judgeAnswer({ kind: 'reported', ...report, misconfigured: true }, facts).misconfigured,
        true,
      )
    }
  })
})
