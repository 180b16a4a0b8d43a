import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { type HandlerContext, park, type SqlTransaction } from 'onceward'
import { explain } from '../../src/evidence/explain.ts'
import { skipWithout } from '../services/services.ts'
import { ConsumerRig } from '../unit/consumer-rig.ts'
import { followTargets, workflow } from './declared-contracts.ts'
import { DeclaredRig } from './declared-rig.ts'

type Context = HandlerContext<unknown, SqlTransaction>
interface Order {
  readonly id: string
  readonly asks?: string
  readonly of?: string
  readonly key?: string
}

describe('evidence and markers, as handlers see them', await skipWithout('postgres'), () => {
  let rig: DeclaredRig
  before(async () => {
    rig = await DeclaredRig.open()
  })
  after(() => rig.close())
  beforeEach(() => rig.clear())

  const orders = (
    handle: (context: Context) => unknown,
    messages: readonly Order[],
    name?: string,
    more = {},
  ) =>
    rig.pass(undefined, messages, {
      ...(name && { name }),
      sizeMax: 10,
      contract: { effect: followTargets, handle: handle as never, failure: { attemptsMax: 1 }, ...more },
    })
  const evidence = () =>
    rig.rows(`select message_id, code, detail from onceward.note where code like 'evidence %' order by 1, 2`)

  test('evidence is a note of an applied message, and explain shows it', async () => {
    const { name } = await orders(
      async ({ message, effects }) => {
        const { id } = message as Order
        effects.evidence('rule', { score: 7, of: id })
        effects.evidence('rule', 'the second is not kept')
        effects.evidence('by', 'hand')
        if (id === 'b') return park('not this one')
      },
      [{ id: 'a' }, { id: 'b' }],
    )
    assert.deepEqual(await evidence(), [
      { message_id: 'a', code: 'evidence by', detail: 'hand' },
      { message_id: 'a', code: 'evidence rule', detail: '{"score":7,"of":"a"}' },
    ])
    const { stories } = await explain(rig.pool, { by: 'message', id: 'a' }, { consumer: name })
    const shown = stories[0]!.timeline.filter(({ what }) => what.startsWith('evidence'))
    assert.deepEqual(shown.map(({ what, text }) => `${what}: ${text}`).sort(), [
      'evidence by: hand',
      'evidence rule: {"score":7,"of":"a"}',
    ])
  })

  test('evidence that cannot be stored fails its message by name', async () => {
    for (const detail of ['x'.repeat(4_001), 'nul \0', undefined]) {
      const { name } = await orders(
        ({ effects }) => effects.evidence('too much', detail),
        [{ id: `odd ${String(detail).length}` }],
      )
      const [held] = await rig.rows(
        'select error from onceward.held where consumer_id = (select id from onceward.consumer where name = $1)',
        [name],
      )
      assert.match(String(held!.error), /effects\.evidence\("too much"\)/)
    }
  })

  test('another message is already processed when its marker is committed as applied', async () => {
    const answers: Record<string, boolean> = {}
    const handle = async ({ message, effects }: Context) => {
      const { id, asks, of } = message as Order
      if (asks !== undefined) answers[id] = await effects.alreadyProcessed(asks, of)
      if (id === 'aside') return park('not this one')
    }
    const { name } = await orders(handle, [
      { id: 'first' },
      { id: 'neighbour', asks: 'first' },
      { id: 'aside' },
      { id: 'self', asks: 'self' },
    ])
    assert.deepEqual(answers, { neighbour: false, self: false })
    await orders(
      handle,
      [
        { id: 'later', asks: 'first' },
        { id: 'other', asks: 'aside' },
        { id: 'none', asks: 'unknown' },
      ],
      name,
    )
    await orders(handle, [
      { id: 'mine', asks: 'first' },
      { id: 'theirs', asks: 'first', of: name },
    ])
    assert.deepEqual(answers, {
      neighbour: false,
      self: false,
      later: true,
      other: false,
      none: false,
      mine: false,
      theirs: true,
    })
  })

  test('after a declared effect, evidence has its result', async () => {
    const effect = workflow({
      after: async ({ result, effects }) => effects.evidence('moved', `${result.from} to ${result.to}`),
    })
    await rig.pass(effect, [{ id: '1', transitionId: '1', caseId: 'a', event: 'Opened', version: 1 }])
    assert.deepEqual(
      (await evidence()).filter(row => row.message_id === '1'),
      [{ message_id: '1', code: 'evidence moved', detail: 'null to new' }],
    )
  })

  test('the idempotency key of the message is the default key of external effects', async () => {
    const { name, outcomes } = await orders(
      ({ message, effects }) => effects.external('partner', { body: message }),
      [{ id: 'a', key: 'op-1' }, { id: 'b' }],
      undefined,
      { identity: { id: (m: Order) => m.id, idempotencyKey: (m: Order) => m.key } },
    )
    assert.equal(outcomes.applied, 1)
    assert.deepEqual(
      await rig.rows('select effect_key from onceward.ledger where consumer_name = $1', [name]),
      [{ effect_key: 'op-1' }],
    )
    const [held] = await rig.held(name)
    assert.equal(held!.message_id, 'b')
  })
})

test('the memory store keeps evidence and answers about markers', async () => {
  const rig = new ConsumerRig()
  const answers: boolean[] = []
  const one = await rig.start({
    async handle({ message, tx, effects }) {
      if (message.key !== undefined) answers.push(await effects.alreadyProcessed(message.key))
      effects.evidence('by', message.id)
      rig.apply(tx, message.id)
    },
  })
  rig.publish({ id: 'a', key: 'a' })
  await rig.env.advance(10)
  rig.publish({ id: 'b', key: 'a' })
  await rig.env.advance(10)
  await one.drain()
  assert.deepEqual(answers, [false, true])
  assert.deepEqual([...rig.store.memory.committed.evidence.values()], ['a', 'b'])
})
