import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, beforeEach, describe, test } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { type Entry, ledger } from './declared-contracts.ts'
import { DeclaredRig } from './declared-rig.ts'

const entry = (id: string, amount: string, changes: Partial<Entry> = {}): Entry => ({
  id,
  entryId: id,
  account: 'acme',
  amount,
  ...changes,
})

describe('a ledger of balances', await skipWithout('postgres'), () => {
  let rig: DeclaredRig
  before(async () => {
    rig = await DeclaredRig.open()
  })
  after(() => rig.close())
  beforeEach(() => rig.clear())

  const balances = async () =>
    (await rig.rows('select key, count::int, amount::text from balance order by 1')).map(Object.values)
  const drift = () => ledger().drift((sql, values) => rig.pool.query(sql, values as never) as never)

  test('keeps each balance as the sum of its entries, with the consumer and message that made them', async () => {
    const { name } = await rig.pass(ledger(), [
      entry('a', '10.00'),
      entry('b', '-2.50'),
      entry('c', '1', { account: 'b' }),
    ])
    assert.deepEqual(await balances(), [
      ['acme', 2, '7.50'],
      ['b', 1, '1.00'],
    ])
    assert.deepEqual(await drift(), [])
    assert.deepEqual(await rig.rows(`select consumer, message_id from entry where event_id = 'b'`), [
      { consumer: name, message_id: 'b' },
    ])
  })

  test('never falls below zero where that is declared: in order, inside a batch and against the stored balance', async () => {
    const { name, outcomes } = await rig.pass(ledger(), [
      entry('first', '-1'),
      entry('in', '10'),
      entry('out', '-7'),
      entry('too much', '-4'),
      entry('rest', '-3'),
    ])
    assert.equal(outcomes.applied, 3)
    assert.deepEqual(
      (await rig.held(name)).map(row => [row.message_id, row.state, row.code]),
      [
        ['first', 'parked', 'balance_negative'],
        ['too much', 'parked', 'balance_negative'],
      ],
    )
    assert.deepEqual(await balances(), [['acme', 3, '0.00']])
    const again = await rig.pass(ledger(), [entry('out', '-7', { id: 'again' }), entry('more', '-0.01')])
    assert.equal((await rig.markers(again.name)).again, 'duplicate')
    assert.equal((await rig.held(again.name))[0]!.message_id, 'more')
  })

  test('a repeat of a refused entry is decided again, in the same batch', async () => {
    const { name, outcomes } = await rig.pass(ledger(), [
      entry('out', '-5'),
      entry('out', '-5', { id: 'again' }),
      entry('in', '5'),
      entry('out', '-5', { id: 'covered' }),
      entry('out', '-5', { id: 'repeated' }),
    ])
    assert.deepEqual(await rig.markers(name), {
      out: 'parked',
      again: 'parked',
      in: 'applied',
      covered: 'applied',
      repeated: 'duplicate',
    })
    assert.equal(outcomes.retry, undefined)
    assert.deepEqual(await balances(), [['acme', 2, '0.00']])
  })

  test('a correction may not take a spent amount', async () => {
    await rig.pass(ledger(), [entry('in', '10'), entry('out', '-8')])
    const { name } = await rig.pass(ledger(), [
      entry('wrong', '5', { corrects: 'in' }),
      entry('right', '8.50', { corrects: 'in' }),
    ])
    assert.deepEqual(await rig.held(name), [
      { message_id: 'wrong', state: 'parked', code: 'balance_negative' },
    ])
    assert.deepEqual(await balances(), [['acme', 2, '0.50']])
    assert.deepEqual(await drift(), [])
  })

  test('an amount its column cannot hold exactly is set aside, not rounded', async () => {
    const { name } = await rig.pass(ledger(), [entry('fine', '1.005')])
    assert.deepEqual(await rig.held(name), [
      { message_id: 'fine', state: 'quarantined', code: 'field_unreadable' },
    ])
  })

  test('two processes cannot spend the same money', async () => {
    await rig.pass(ledger(), [entry('in', '100')])
    const spend = (who: string) => Array.from({ length: 80 }, (_, n) => entry(`${who}${n}`, '-1'))
    await rig.fillQueue('spend_a', spend('a'))
    await rig.fillQueue('spend_b', spend('b'))
    const children = ['spend_a', 'spend_b'].map(name => rig.startProcess(name, 'ledger'))
    await Promise.all(['spend_a', 'spend_b'].map(name => rig.queueEmpty(name)))
    for (const child of children) {
      child.kill('SIGKILL')
      if (child.signalCode === null) await once(child, 'exit')
    }
    assert.deepEqual(await balances(), [['acme', 101, '0.00']])
    assert.deepEqual(await drift(), [])
    const held = [...(await rig.held('spend_a')), ...(await rig.held('spend_b'))]
    assert.equal(held.length, 60)
  })
})
