import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Evidence } from './evidence.ts'
import { judge } from './judge.ts'
import { planMessages } from './plan.ts'

/** What a flawless run leaves behind. */
function flawless(): Evidence {
  const sent = planMessages(400, 7)
  const firsts = sent.filter(message => message.kind === 'first')
  const captures = firsts.map(({ capture, amount, id }) => ({ capture: capture!, amount: amount!, id: id! }))
  const marker = (status: string) => (message: (typeof sent)[number]) => ({
    id: message.id!,
    digest: message.digest,
    status,
  })
  const conflicts = sent.filter(message => message.kind === 'conflict')
  const malformed = sent.filter(message => message.kind === 'malformed')
  const held = [
    ...conflicts.map(({ digest }) => ({ digest, state: 'quarantined', code: 'conflict' })),
    ...malformed.map(({ digest }) => ({ digest, state: 'dead', code: 'invalid' })),
  ]
  return {
    sent,
    markers: [
      ...firsts.map(marker('applied')),
      ...sent.filter(message => message.kind === 'resent').map(marker('duplicate')),
    ],
    held,
    captures,
    ledger: captures.map(({ capture }) => ({ key: capture, state: 'completed', attempts: 1 })),
    outbox: 0,
    queued: 0,
    deadLetterCopies: held.length,
    calls: captures.map(({ capture, amount }) => ({
      key: capture,
      capture,
      amount,
      digest: capture,
      charged: true,
      answer: 'ok',
    })),
  }
}

const failedChecks = (evidence: Evidence) => judge(evidence).checks.filter(check => !check.ok)
const withoutFirst = <T>(list: readonly T[]) => list.slice(1)
const twiceFirst = <T>(list: readonly T[]) => [...list, list[0]!]

describe("the demo's judge", () => {
  it('finds nothing wrong with a flawless run', () => {
    assert.deepEqual(failedChecks(flawless()), [])
    const { lost, doubled } = judge(flawless())
    assert.deepEqual([lost, doubled], [0, 0])
  })

  const crimes: Record<
    string,
    (evidence: Evidence) => { evidence: Evidence; lost?: number; doubled?: number }
  > = {
    'a capture that was never applied': e => ({
      evidence: { ...e, captures: withoutFirst(e.captures) },
      lost: 1,
    }),
    'a capture that was never charged': e => ({ evidence: { ...e, calls: withoutFirst(e.calls) }, lost: 1 }),
    'a message without an outcome': e => ({ evidence: { ...e, held: withoutFirst(e.held) }, lost: 1 }),
    'a capture applied twice': e => ({ evidence: { ...e, captures: twiceFirst(e.captures) }, doubled: 1 }),
    'a capture charged twice': e => ({ evidence: { ...e, calls: twiceFirst(e.calls) }, doubled: 1 }),
    'a charge without a request': e => ({
      evidence: { ...e, calls: [...e.calls, { ...e.calls[0]!, capture: 'cap-x' }] },
    }),
    'a charge of another amount': e => ({
      evidence: { ...e, calls: [{ ...e.calls[0]!, amount: 1 }, ...withoutFirst(e.calls)] },
    }),
    'a repeated call with other bytes': e => ({
      evidence: { ...e, calls: [...e.calls, { ...e.calls[0]!, charged: false, digest: 'other' }] },
    }),
    'a charge that is not recorded': e => ({
      evidence: { ...e, ledger: [{ ...e.ledger[0]!, state: 'unknown' }, ...withoutFirst(e.ledger)] },
    }),
    'a duplicate taken for a conflict': e => ({
      evidence: {
        ...e,
        held: [...e.held, { digest: e.markers[0]!.digest, state: 'quarantined', code: 'conflict' }],
      },
    }),
    'a dead letter without its copy': e => ({ evidence: { ...e, deadLetterCopies: e.held.length - 1 } }),
    'a message left in the queue': e => ({ evidence: { ...e, queued: 1 } }),
  }
  for (const [name, commit] of Object.entries(crimes)) {
    it(`sees ${name}`, () => {
      const { evidence, lost = 0, doubled = 0 } = commit(flawless())
      assert.notDeepEqual(failedChecks(evidence), [])
      const found = judge(evidence)
      assert.deepEqual([found.lost, found.doubled], [lost, doubled])
    })
  }
})

describe("the demo's plan", () => {
  it('has a fifth of duplicates, some conflicts and some malformed messages, the same for the same seed', () => {
    const plan = planMessages(1_000, 3)
    const count = (kind: string) => plan.filter(message => message.kind === kind).length
    assert.equal(plan.length, 1_000)
    assert.ok(
      count('duplicate') >= 200 && count('conflict') > 0 && count('malformed') > 0 && count('resent') > 0,
    )
    assert.deepEqual(planMessages(1_000, 3), plan)
    assert.notDeepEqual(planMessages(1_000, 4), plan)
  })
})
