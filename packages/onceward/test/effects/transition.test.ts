import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, beforeEach, describe, test } from 'node:test'
import { transition } from 'onceward'
import { until } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import { machine, type Step, workflow } from './declared-contracts.ts'
import { DeclaredRig } from './declared-rig.ts'

const names = ['Opened', 'ReviewStarted', 'Escalated', 'Closed', 'ClosureCorrected']

/** The n-th step of a case. */
export function step(caseId: string, version: number, changes: Partial<Step> = {}): Step {
  const id = `${caseId}-${version}`
  return { id, transitionId: id, caseId, event: names[version - 1]!, version, ...changes }
}

const life = (caseId: string, steps = 4) => Array.from({ length: steps }, (_, n) => step(caseId, n + 1))

const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

describe('a transition', await skipWithout('postgres'), () => {
  let rig: DeclaredRig
  before(async () => {
    rig = await DeclaredRig.open()
  })
  after(() => rig.close())
  beforeEach(() => rig.clear())

  const cases = () => rig.rows('select case_id, state, version::int, outcome from workflow order by 1')
  const facts = () =>
    rig.rows(
      'select transition_id, aggregate_id, from_state, to_state, version::int, actor, reason, message_id from workflow_fact order by aggregate_id, seq',
    )

  test('moves a case through its states, several steps of it in one batch, and each is a fact', async () => {
    const { name, outcomes } = await rig.pass(workflow(), [...life('a'), ...life('b', 2)])
    assert.equal(outcomes.applied, 6)
    assert.deepEqual(await cases(), [
      { case_id: 'a', state: 'closed', version: 4, outcome: null },
      { case_id: 'b', state: 'review', version: 2, outcome: null },
    ])
    const [first, second] = await facts()
    assert.deepEqual(first, {
      transition_id: 'a-1',
      aggregate_id: 'a',
      from_state: null,
      to_state: 'new',
      version: 1,
      actor: 'officer',
      reason: 'because of Opened',
      message_id: 'a-1',
    })
    assert.deepEqual([second!.from_state, second!.to_state], ['new', 'review'])
    const [{ consumer }] = (await rig.rows('select distinct consumer from workflow_fact')) as [
      { consumer: string },
    ]
    assert.equal(consumer, name)
  })

  test('a correction is a new fact: it changes the outcome of a closed case and keeps the original fact', async () => {
    const closed = step('a', 4, { outcome: 'NO_BREACH' })
    const corrected = step('a', 5, { outcome: 'BREACH' })
    await rig.pass(workflow(), [...life('a', 3), closed, corrected])
    assert.deepEqual(await cases(), [{ case_id: 'a', state: 'closed', version: 5, outcome: 'BREACH' }])
    assert.equal((await facts()).length, 5)
  })

  test('a step that sets nothing leaves a column as it is, and null empties it', async () => {
    await rig.pass(workflow(), [step('a', 1, { outcome: 'first' }), step('a', 2)])
    assert.equal((await cases())[0]!.outcome, 'first')
    await rig.pass(workflow(), [step('a', 3, { outcome: null })])
    assert.equal((await cases())[0]!.outcome, null)
  })

  describe('that changes nothing records the reason', () => {
    const refused = async (messages: readonly Step[], contract = {}) => {
      const passed = await rig.pass(workflow(), messages, { contract })
      return { ...passed, held: await rig.held(passed.name), markers: await rig.markers(passed.name) }
    }
    const once = { failure: { attemptsMax: 2, delayMs: 1, delayMaxMs: 1 } }

    test('duplicate: the transition happened, under any message id, now or before', async () => {
      const inBatch = await refused([...life('a', 2), step('a', 2, { id: 'other' })])
      assert.equal(inBatch.markers.other, 'duplicate')
      const later = await refused(life('a', 2).map(one => ({ ...one, id: `again-${one.id}` })))
      assert.deepEqual(later.markers, { 'again-a-1': 'duplicate', 'again-a-2': 'duplicate' })
      assert.equal((await facts()).length, 2)
    })

    test('stale: the version was passed, or reached under another transition id', async () => {
      await rig.pass(workflow(), life('a', 3))
      const { markers, outcomes } = await refused([
        step('a', 2, { id: 'late', transitionId: 'late' }),
        step('a', 3, { id: 'same', transitionId: 'same' }),
      ])
      assert.deepEqual(markers, { late: 'stale', same: 'stale' })
      assert.equal(outcomes.stale, 2)
    })

    test('illegal: the next version, but not from this state, or not declared', async () => {
      await rig.pass(workflow(), life('a', 2))
      const { held } = await refused([
        step('a', 3, { id: 'open-again', transitionId: 'x', event: 'Opened' }),
        step('a', 3, { id: 'undeclared', transitionId: 'y', event: 'Teleported' }),
      ])
      assert.deepEqual(held, [
        { message_id: 'open-again', state: 'quarantined', code: 'illegal_transition' },
        { message_id: 'undeclared', state: 'quarantined', code: 'illegal_transition' },
      ])
    })

    test('missing: tried again until attempts run out, then parked', async () => {
      const { held } = await refused([step('nobody', 2)], once)
      assert.deepEqual(held, [{ message_id: 'nobody-2', state: 'parked', code: 'missing_aggregate' }])
    })

    test('out of order: waits for earlier versions, and is parked when they never arrive', async () => {
      const { held } = await refused([step('a', 1), step('a', 3)], once)
      assert.deepEqual(held, [{ message_id: 'a-3', state: 'parked', code: 'transition_out_of_order' }])
      const healed = await rig.pass(workflow(), [step('b', 3), step('b', 2), step('b', 1)], { sizeMax: 1 })
      assert.equal(healed.outcomes.applied, 3)
    })

    test('corruption: an id used for another transition, two transitions of a version, an undeclared state', async () => {
      await rig.pass(workflow(), [...life('a', 3), ...life('c', 1)])
      await rig.pool.query(`update workflow set state = 'limbo' where case_id = 'c'`)
      const { held } = await refused([
        step('a', 4, { id: 'used', transitionId: 'a-3' }),
        step('b', 1, { id: 'used elsewhere', transitionId: 'a-3' }),
        step('a', 3, { id: 'fork', transitionId: 'fork', event: 'Closed' }),
        step('c', 2, { id: 'limbo' }),
      ])
      assert.deepEqual(
        held.map(row => [row.message_id, row.state, row.code]),
        ['fork', 'limbo', 'used', 'used elsewhere'].map(id => [id, 'quarantined', 'transition_corruption']),
      )
    })

    test('as the declaration says: corruption may stop the consumer, with nothing settled', async () => {
      await rig.pass(workflow(), life('a', 1))
      await rig.pool.query(`update workflow set state = 'limbo'`)
      const apply = transition<Step>({
        machine,
        aggregate: { table: 'workflow', key: 'case_id', state: 'state', version: 'version' },
        facts: 'workflow_fact',
        aggregateId: m => m.caseId,
        transitionId: m => m.transitionId,
        event: m => m.event,
        version: m => m.version,
        actor: () => null,
        reason: () => null,
        on: { corruption: 'halt' },
      })
      const { state, unsettled, name } = await rig.pass(apply, [step('a', 2), step('b', 1)])
      assert.equal(state, 'halted')
      assert.ok(unsettled >= 1)
      assert.equal((await rig.markers(name))['a-2'], undefined)
    })

    test('a message without its transition id is set aside without affecting others', async () => {
      const broken = { ...step('a', 2), id: 'broken', transitionId: undefined }
      const { held, outcomes } = await refused([...life('a', 2), broken as never])
      assert.deepEqual(held, [{ message_id: 'broken', state: 'quarantined', code: 'field_unreadable' }])
      assert.equal(outcomes.applied, 2)
    })
  })

  test('without versions the machine distinguishes early from late', async () => {
    await rig.pool.query('create table plain (case_id integer primary key, state text not null)')
    await rig.pool.query(
      'create table plain_fact (transition_id text primary key, consumer text, aggregate_id text, from_state text, to_state text, actor text, reason text, message_id text)',
    )
    const plain = transition<Step>({
      machine,
      aggregate: { table: 'plain', key: 'case_id', state: 'state' },
      facts: 'plain_fact',
      aggregateId: m => m.caseId,
      transitionId: m => m.transitionId,
      event: m => m.event,
      actor: () => null,
      reason: () => null,
      retryDelayMs: 1,
    })
    // '7' and '07' are one row of an integer key.
    await rig.pass(plain, [
      step('7', 1),
      step('07', 2, { id: 'spelt otherwise', transitionId: 'o' }),
      step('7', 3),
    ])
    assert.deepEqual(await rig.rows('select * from plain'), [{ case_id: 7, state: 'escalated' }])
    const twins = [step('8', 1), step('08', 1, { id: 'twin', transitionId: 'twin' })]
    const both = await rig.pass(plain, twins)
    assert.deepEqual(await rig.markers(both.name), { '8-1': 'applied', twin: 'stale' })
    const existing = await rig.pass(plain, [
      step('8', 2),
      step('08', 3, { id: 'next', transitionId: 'next' }),
      step('8', 4),
    ])
    assert.deepEqual(existing.outcomes, { applied: 3 })
    const { name } = await rig.pass(
      plain,
      [
        step('7', 2, { id: 'late', transitionId: 'l' }),
        step('7', 1, { id: 'reopened', transitionId: 'r' }),
        step('7', 5, { id: 'early', transitionId: 'e' }),
      ],
      { contract: { failure: { attemptsMax: 1 } } },
    )
    assert.deepEqual(await rig.markers(name), { late: 'stale', reopened: 'stale', early: 'parked' })
  })

  test('from and to of the message are trusted where no machine is declared', async () => {
    const free = transition<Step & { from: string | null; to: string }>({
      aggregate: {
        table: 'workflow',
        key: 'case_id',
        state: 'state',
        version: 'version',
        versions: 'increasing',
      },
      facts: 'workflow_fact',
      aggregateId: m => m.caseId,
      transitionId: m => m.transitionId,
      from: m => m.from,
      to: m => m.to,
      version: m => m.version,
      actor: () => null,
      reason: () => null,
    })
    const move = (version: number, from: string | null, to: string) => ({ ...step('a', version), from, to })
    const { name } = await rig.pass(free, [move(1, null, 'x'), move(5, 'x', 'y'), move(9, 'x', 'z')])
    assert.deepEqual(await cases(), [{ case_id: 'a', state: 'y', version: 5, outcome: null }])
    assert.equal((await rig.held(name))[0]!.code, 'illegal_transition')
  })

  test('keeps the order of keys: an illegal step in the middle is set aside and the steps behind it continue', async () => {
    const identity = { id: (m: unknown) => (m as Step).id, orderKey: (m: unknown) => (m as Step).caseId }
    const illegal = step('a', 2, { id: 'illegal', transitionId: 'illegal', event: 'Closed' })
    const { name, outcomes } = await rig.pass(
      workflow(),
      [step('a', 1), illegal, step('a', 3), step('a', 2), step('b', 1), step('a', 4)],
      { contract: { order: 'key', identity } },
    )
    assert.equal(outcomes.applied, 5)
    assert.deepEqual(await rig.held(name), [
      { message_id: 'illegal', state: 'quarantined', code: 'illegal_transition' },
    ])
    assert.deepEqual(
      (await cases()).map(row => [row.case_id, row.state]),
      [
        ['a', 'closed'],
        ['b', 'new'],
      ],
    )
  })

  describe('waits for a transaction that holds the aggregate', () => {
    /** Another transaction escalates the case and commits only once our consumer waits for it. */
    const race = async (...messages: Step[]) => {
      await rig.pass(workflow(), life('a', 2))
      const other = await rig.pool.connect()
      await other.query('begin')
      await other.query(`update workflow set state = 'escalated', version = 3`)
      await other.query(
        `insert into workflow_fact (transition_id, consumer, aggregate_id, from_state, to_state, version, message_id)
         values ('a-3', 'other', 'a', 'review', 'escalated', 3, 'm')`,
      )
      const passing = rig.pass(workflow(), messages)
      await until('it waits for the row', async () => {
        return (await rig.rows(waiting)).length > 0
      })
      await other.query('commit')
      other.release()
      return passing
    }

    test('and finds that its transition happened', async () => {
      const { name, outcomes } = await race(step('a', 3), step('a', 4))
      assert.deepEqual(await rig.markers(name), { 'a-3': 'duplicate', 'a-4': 'applied' })
      assert.equal(outcomes.retry, undefined)
    })

    test('and does not apply another one to the earlier state', async () => {
      const { name } = await race(step('a', 3, { id: 'rival', transitionId: 'rival', event: 'Closed' }))
      assert.deepEqual(await rig.held(name), [
        { message_id: 'rival', state: 'quarantined', code: 'transition_corruption' },
      ])
      assert.equal((await cases())[0]!.state, 'escalated')
    })
  })

  test('that creates the same aggregate at the same time as another is run again, and counts no attempt', async () => {
    const other = await rig.pool.connect()
    await other.query('begin')
    await other.query(`insert into workflow values ('a', 'new', 1)`)
    const passing = rig.pass(workflow(), life('a', 2))
    await until('it waits for the key', async () => {
      return (await rig.rows(waiting)).length > 0
    })
    await other.query('commit')
    other.release()
    const { name, outcomes } = await passing
    assert.deepEqual(await rig.markers(name), { 'a-1': 'stale', 'a-2': 'applied' })
    assert.equal(outcomes.retry, undefined)
    assert.deepEqual(await rig.rows('select from onceward.attempt where message_id = $1', ['a-1']), [])
  })

  test('two processes with the same transitions under other message ids make each once', async () => {
    const messages = Array.from({ length: 40 }, (_, n) => life(`case-${n}`)).flat()
    await rig.fillQueue('twin_a', messages)
    await rig.fillQueue(
      'twin_b',
      messages.map(message => ({ ...message, id: `b-${message.id}` })),
    )
    const children = ['twin_a', 'twin_b'].map(name => rig.startProcess(name, 'workflow'))
    await Promise.all(['twin_a', 'twin_b'].map(name => rig.queueEmpty(name)))
    for (const child of children) {
      child.kill('SIGKILL')
      if (child.signalCode === null) await once(child, 'exit')
    }
    assert.equal((await facts()).length, 160)
    assert.deepEqual(await rig.rows('select distinct state, version::int from workflow'), [
      { state: 'closed', version: 4 },
    ])
    assert.deepEqual(await rig.held('twin_b'), [])
  })

  for (const point of [
    'batch.received',
    'batch.claimed',
    'batch.applied',
    'batch.concluded',
    'batch.committed',
    'batch.settled',
  ] as const) {
    test(`killed at ${point}, the next process leaves the rows of one clean pass`, async () => {
      const name = `crash_${point.replace('.', '_')}`
      const messages = [...life('a'), ...life('b'), ...life('c')]
      await rig.fillQueue(name, messages)
      assert.equal(await rig.diesAt(name, 'workflow', point), 'SIGKILL')
      await rig.finishQueue(name, 'workflow')
      assert.deepEqual(
        (await cases()).map(row => [row.case_id, row.state, row.version]),
        ['a', 'b', 'c'].map(id => [id, 'closed', 4]),
      )
      assert.equal((await facts()).length, 12)
    })
  }
})
