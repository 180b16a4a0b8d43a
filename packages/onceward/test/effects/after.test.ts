import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { type HandlerContext, ignore, park, type SqlTransaction, Verdict } from 'onceward'
import { skipWithout } from '../services/services.ts'
import {
  type Deed,
  deeds,
  followed,
  followMove,
  followTargets,
  type Minutes,
  minutes,
  type Step,
  workflow,
} from './declared-contracts.ts'
import { DeclaredRig } from './declared-rig.ts'

const names = ['Opened', 'ReviewStarted', 'Escalated', 'Closed']
const step = (caseId: string, version: number, changes: Partial<Step> = {}): Step => {
  const id = `${caseId}-${version}`
  return { id, transitionId: id, caseId, event: names[version - 1]!, version, ...changes }
}
const life = (caseId: string, steps = 4) => Array.from({ length: steps }, (_, n) => step(caseId, n + 1))
const once = { failure: { attemptsMax: 1, delayMs: 1, delayMaxMs: 1 } }

describe('after a declared effect', await skipWithout('postgres'), () => {
  let rig: DeclaredRig
  before(async () => {
    rig = await DeclaredRig.open()
  })
  after(() => rig.close())
  beforeEach(() => rig.clear())

  const published = async () =>
    (
      await rig.rows(
        `select convert_from(body, 'utf8')::json->>'step' as step from onceward.outbox order by id`,
      )
    ).map(row => row.step)
  const seen = async () => (await rig.rows('select step from move_seen order by step')).map(row => row.step)
  const called = async (name: string) =>
    (
      await rig.rows('select effect_key as key from onceward.ledger where consumer_name = $1 order by 1', [
        name,
      ])
    ).map(row => row.key)
  const states = async () =>
    (await rig.rows('select case_id, state from workflow order by 1')).map(
      row => `${row.case_id} ${row.state}`,
    )

  test('a transition publishes, calls and writes with its result, in the order of its versions', async () => {
    const [first, second, third] = life('a', 3)
    const { name } = await rig.pass(followed(), [third!, first!, second!, step('b', 1)])
    const moves = ['a null new 1', 'a new review 2', 'a review escalated 3']
    assert.deepEqual(
      (await published()).filter(one => String(one).startsWith('a')),
      moves,
    )
    assert.deepEqual(await seen(), [...moves, 'b null new 1'].sort())
    assert.deepEqual(await called(name), ['a-1', 'a-2', 'a-3', 'b-1'])
  })

  test('it is called for what was applied: not for a duplicate, a stale or an illegal one', async () => {
    await rig.pass(followed(), life('a', 2))
    const { outcomes } = await rig.pass(followed(), [
      step('a', 2, { id: 'again' }),
      step('a', 1, { id: 'late', transitionId: 'late' }),
      step('a', 3, { id: 'illegal', transitionId: 'x', event: 'Opened' }),
      step('a', 3),
    ])
    assert.deepEqual(outcomes, { duplicate: 1, stale: 1, quarantined: 1, applied: 1 })
    assert.deepEqual(await published(), ['a null new 1', 'a new review 2', 'a review escalated 3'])
  })

  for (const [how, fail] of Object.entries({
    'that throws': () => Promise.reject(new Error('not this one')),
    'whose statement fails': (tx: { query(text: string): Promise<unknown> }) => tx.query('select 1/0'),
    'that swallows the error of its statement': (tx: { query(text: string): Promise<unknown> }) =>
      tx.query('select 1/0').catch(() => {}),
    'that parks': async () => park('not this one'),
  }))
    test(`one ${how} undoes its transition and no other`, async () => {
      const effect = workflow({
        after: async context => {
          await followMove(context)
          if (context.result.aggregateId === 'c') return (await fail(context.tx)) as Verdict | undefined
        },
      })
      const { name, outcomes } = await rig.pass(
        effect,
        ['a', 'b', 'c', 'd'].map(id => step(id, 1)),
        { contract: once },
      )
      const set = outcomes.parked ?? outcomes['dead-lettered']
      assert.deepEqual([outcomes.applied, set], [3, 1])
      assert.deepEqual(await states(), ['a new', 'b new', 'd new'])
      assert.deepEqual(await seen(), ['a null new 1', 'b null new 1', 'd null new 1'])
      assert.deepEqual((await published()).sort(), ['a null new 1', 'b null new 1', 'd null new 1'])
      assert.deepEqual(await called(name), ['a-1', 'b-1', 'd-1'])
      assert.deepEqual(
        (await rig.held(name)).map(row => row.message_id),
        ['c-1'],
      )
    })

  test('one that fails at first is tried again, with its transition, and happens once', async () => {
    let failures = 2
    const effect = workflow({
      async after(context) {
        await followMove(context)
        if (context.message.id === 'a-2' && failures-- > 0) throw new Error('not yet')
      },
    })
    const contract = { failure: { attemptsMax: 5, delayMs: 1, delayMaxMs: 1 } }
    const { outcomes } = await rig.pass(effect, [...life('a'), step('b', 1)], { contract })
    assert.equal(outcomes.applied, 5)
    assert.deepEqual(await states(), ['a closed', 'b new'])
    assert.equal((await seen()).length, 5)
    assert.equal((await published()).length, 5)
  })

  test('a failure of one stops its key: later messages of it wait', async () => {
    const effect = workflow({
      after: async context => {
        if (context.message.id === 'a-2') return park('a person must look')
        await followMove(context)
      },
    })
    const contract = {
      order: 'key',
      identity: { id: (m: Step) => m.id, orderKey: (m: Step) => m.caseId },
    } as const
    const { name, outcomes } = await rig.pass(effect, [...life('a'), ...life('b')], {
      contract: contract as never,
    })
    assert.deepEqual(outcomes, { applied: 5, parked: 3 })
    assert.deepEqual(await states(), ['a new', 'b closed'])
    assert.deepEqual(
      (await rig.held(name)).map(row => row.message_id),
      ['a-2', 'a-3', 'a-4'],
    )
    assert.equal((await published()).length, 5)
  })

  test('a verdict decides: ignored undoes the effect, applied keeps it with its code', async () => {
    const effect = workflow({
      after: async context => {
        await followMove(context)
        if (context.message.id === 'a-1') return ignore('not wanted')
        if (context.message.id === 'b-1') return Verdict.applied('with a remark', 'remarked')
      },
    })
    const { outcomes } = await rig.pass(effect, [step('a', 1), step('b', 1)])
    assert.deepEqual(outcomes, { applied: 1, ignored: 1 })
    assert.deepEqual(await states(), ['b new'])
    assert.deepEqual(await published(), ['b null new 1'])
    assert.deepEqual(await seen(), ['b null new 1'])
  })

  test('a handler that returns applied keeps what it wrote and requested', async () => {
    const contract = {
      effect: followTargets,
      handle: async ({ message, tx, effects }: HandlerContext<unknown, SqlTransaction>) => {
        const { id } = message as Step
        await tx.query('insert into move_seen (id, step) values ($1, $1)', [id])
        effects.publish('moved', { body: { step: id } })
        return Verdict.applied('with a remark', 'remarked')
      },
    }
    const { outcomes } = await rig.pass(undefined, [step('a', 1), step('b', 1)], { contract })
    assert.deepEqual(outcomes, { applied: 2 })
    assert.deepEqual(await seen(), ['a-1', 'b-1'])
    assert.deepEqual((await published()).sort(), ['a-1', 'b-1'])
  })

  test('one that does not return fails its message when the time is over, and no other', async () => {
    const effect = workflow({
      after: async context => {
        if (context.message.id === 'b-1') return new Promise<void>(() => {})
        await followMove(context)
      },
    })
    const contract = { ...once, batch: { handlerTimeoutMs: 300 } }
    const { name, outcomes } = await rig.pass(effect, [step('a', 1), step('b', 1), step('c', 1)], {
      contract,
    })
    assert.equal(outcomes.applied, 2)
    assert.deepEqual(await states(), ['a new', 'c new'])
    assert.deepEqual(
      (await rig.held(name)).map(row => `${row.message_id} ${row.code}`),
      ['b-1 handler_timeout'],
    )
  })

  test('a round that is rolled back as a whole leaves nothing twice', async () => {
    await rig.pass(followed(), [...life('a'), ...life('b')], { rolledBack: new Set([1, 2]), sizeMax: 3 })
    assert.equal((await seen()).length, 8)
    assert.equal((await published()).length, 8)
  })

  test('a contribution has its key, its window and what it reversed', async () => {
    const results: unknown[] = []
    const effect = minutes('stale', {
      after: async ({ result, effects }) => {
        results.push(result)
        effects.publish('moved', { body: { step: result.eventId } })
      },
    })
    const at = (ms: number, id: string, changes: Partial<Minutes> = {}): Minutes => ({
      id,
      eventId: id,
      team: 't',
      at: ms,
      minutes: 1,
      ...changes,
    })
    const { outcomes } = await rig.pass(effect, [
      at(600_500, 'one'),
      at(600_500, 'one', { id: 'again' }),
      at(600_600, 'two', { corrects: 'one' }),
      at(600_700, 'three', { corrects: 'two', withdrawn: true }),
    ])
    assert.deepEqual(outcomes, { applied: 3, duplicate: 1 })
    const windowsMs = [600_000]
    assert.deepEqual(results, [
      { eventId: 'one', key: 't', windowsMs, reversed: null },
      { eventId: 'two', key: 't', windowsMs, reversed: 'one' },
      { eventId: 'three', key: 't', windowsMs: [], reversed: 'two' },
    ])
    const late = await rig.pass(effect, [at(1, 'late')])
    assert.deepEqual(late.outcomes, { stale: 1 })
    assert.deepEqual(await published(), ['one', 'two', 'three'])
  })

  test('an audit trail has its event', async () => {
    const deed = (id: string, eventId: string): Deed => ({
      id,
      eventId,
      who: 'ann',
      what: { action: 'read' },
    })
    const effect = deeds(async ({ result, message, effects }) => {
      effects.publish('moved', { body: { step: `${result.eventId} ${message.who}` } })
    })
    const { outcomes } = await rig.pass(effect, [deed('1', 'e1'), deed('2', 'e1'), deed('3', 'e2')])
    assert.deepEqual(outcomes, { applied: 2, duplicate: 1 })
    assert.deepEqual(await published(), ['e1 ann', 'e2 ann'])
  })

  for (const point of ['batch.applied', 'batch.concluded', 'batch.committed'] as const)
    test(`killed at ${point}, the next process leaves every effect once`, async () => {
      const name = `after_${point.replace('.', '_')}`
      await rig.fillQueue(name, [...life('a'), ...life('b'), ...life('c')])
      assert.equal(await rig.diesAt(name, 'followed', point), 'SIGKILL')
      await rig.finishQueue(name, 'followed')
      assert.deepEqual(await states(), ['a closed', 'b closed', 'c closed'])
      assert.equal((await seen()).length, 12)
      assert.equal((await published()).length, 12)
      assert.equal((await called(name)).length, 12)
    })
})
