import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, beforeEach, describe, test } from 'node:test'
import { audit, defineConsumer } from 'onceward'
import { skipWithout } from '../services/services.ts'
import { contractOf, type Deed, deeds } from './declared-contracts.ts'
import { DeclaredRig } from './declared-rig.ts'

const deed = (id: string, changes: Partial<Deed> = {}): Deed => ({
  id,
  eventId: id,
  who: 'ann',
  what: { action: 'opened' },
  ...changes,
})

describe('an audit trail', await skipWithout('postgres'), () => {
  let rig: DeclaredRig
  before(async () => {
    rig = await DeclaredRig.open()
  })
  after(() => rig.close())
  beforeEach(() => rig.clear())

  const rows = () => rig.rows('select event_id, who, what, message_id from deed order by 1')

  test('has one row per event, with the message and consumer that wrote it', async () => {
    const { name } = await rig.pass(deeds(), [deed('a'), deed('b', { who: 'bob' })])
    assert.deepEqual(await rows(), [
      { event_id: 'a', who: 'ann', what: { action: 'opened' }, message_id: 'a' },
      { event_id: 'b', who: 'bob', what: { action: 'opened' }, message_id: 'b' },
    ])
    assert.deepEqual(await rig.rows('select distinct consumer from deed'), [{ consumer: name }])
  })

  test('takes the same event under another message id as a duplicate, and other content as a conflict', async () => {
    const inBatch = await rig.pass(deeds(), [
      deed('a'),
      deed('a', { id: 'again' }),
      deed('a', { id: 'other', who: 'eve' }),
    ])
    assert.deepEqual(await rig.markers(inBatch.name), {
      a: 'applied',
      again: 'duplicate',
      other: 'quarantined',
    })
    const later = await rig.pass(deeds(), [
      deed('a', { id: 'other', who: 'eve' }),
      deed('a', { id: 'again' }),
      deed('b'),
    ])
    assert.deepEqual(await rig.markers(later.name), {
      b: 'applied',
      again: 'duplicate',
      other: 'quarantined',
    })
    assert.equal((await rig.held(later.name))[0]!.code, 'entry_conflict')
    assert.deepEqual(
      (await rows()).map(row => [row.event_id, row.who]),
      [
        ['a', 'ann'],
        ['b', 'ann'],
      ],
    )
  })

  test('of two processes, and of one that is killed, is the same', async () => {
    const all = Array.from({ length: 40 }, (_, n) => deed(`d${n}`))
    await rig.fillQueue('trail_a', all)
    await rig.fillQueue(
      'trail_b',
      all.map(message => ({ ...message, id: `b-${message.id}` })),
    )
    assert.equal(await rig.diesAt('trail_a', 'deeds', 'batch.committed'), 'SIGKILL')
    const children = ['trail_a', 'trail_b'].map(name => rig.startProcess(name, 'deeds'))
    await Promise.all(['trail_a', 'trail_b'].map(name => rig.queueEmpty(name)))
    for (const child of children) {
      child.kill('SIGKILL')
      if (child.signalCode === null) await once(child, 'exit')
    }
    assert.equal((await rows()).length, 40)
    assert.deepEqual(await rig.held('trail_b'), [])
  })

  test('declared wrong is refused, at definition or at start', async () => {
    const columns = { who: (m: Deed) => m.who }
    const define = (changes: object) =>
      defineConsumer(
        contractOf(
          audit<Deed>({ table: 'deed', eventId: m => m.eventId, columns, ...changes }),
          { kind: 'memory' },
          'wrong',
        ),
      )
    assert.throws(() => define({ columns: {} }), /effect\.apply\.columns: must be/)
    assert.throws(
      () => define({ columns: { digest: () => 1 } }),
      /effect\.apply\.columns\.digest: is filled by the effect/,
    )
    assert.throws(() => define({ eventId: 'id' }), /effect\.apply\.eventId: must be a function/)
    const wrong = audit<Deed>({ table: 'deed', eventId: m => m.eventId, columns: { whoo: m => m.who } })
    await assert.rejects(
      rig.pass(wrong, []),
      /effect\.apply\.columns\.whoo: table deed has no column whoo; did you mean 'who'/,
    )
    await rig.pool.query(
      'create table uuid_deed (like deed including all); alter table uuid_deed alter message_id type uuid using null',
    )
    await assert.rejects(
      rig.pass(audit<Deed>({ table: 'uuid_deed', eventId: m => m.eventId, columns }), []),
      /effect\.apply\.table: column uuid_deed\.message_id is uuid, it must be text/,
    )
  })

  test('whose key collation treats different texts as equal is refused', async () => {
    await rig.pool.query(`create collation if not exists any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
      create table loose_deed (like deed including all); alter table loose_deed alter event_id type text collate any_case`)
    const loose = audit<Deed>({ table: 'loose_deed', eventId: m => m.eventId, columns: { who: m => m.who } })
    await assert.rejects(
      rig.pass(loose, [deed('a'), deed('A')]),
      /effect\.apply\.table: column loose_deed\.event_id has a nondeterministic collation/,
    )
  })
})
