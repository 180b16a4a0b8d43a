import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { defineConsumer, type SqlTransaction } from 'onceward'
import { handlerOn, probeRollback } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import { PostgresRig, type Row, type RowContext, write } from './postgres-rig.ts'

const message = { body: Buffer.from('{"id":"a"}') }

function consumerWith(handle: (context: RowContext) => Promise<void>) {
  return defineConsumer<Row, SqlTransaction>({
    name: 'probed',
    owner: 'unit',
    risk: 'low value',
    source: { kind: 'memory' },
    identity: { id: m => m.id },
    handle,
  })
}

describe('the forced-rollback probe', await skipWithout('postgres'), () => {
  let rig: PostgresRig
  before(async () => {
    rig = await PostgresRig.open()
  })
  beforeEach(() => rig.reset())
  after(() => rig.close())

  const probe = (handle: (context: RowContext) => Promise<void>) =>
    probeRollback({
      store: rig.store(),
      run: handlerOn(consumerWith(handle), message),
      observe: () => rig.written(),
    })

  test('accepts a handler that writes through tx, and leaves no rows', async () => {
    let calls = 0
    await probe(async ({ message: row, tx, effects }) => {
      calls++
      await write(tx, row.id)
      effects.external('anything', { key: 'k', body: 1 })
    })
    assert.equal(calls, 1)
    assert.deepEqual(await rig.written(), [])
    const { rows } = await rig.pool.query('select count(*)::int as n from onceward.consumer')
    assert.equal(rows[0].n, 0)
  })

  test('detects a handler that bypasses tx, and shows the remaining rows', async () => {
    const bypassing = probe(async ({ message: row }) => {
      await rig.pool.query('insert into written (id) values ($1)', [row.id])
    })
    await assert.rejects(bypassing, error => {
      const { code, details } = error as { code: string; details: { before: unknown; after: unknown } }
      assert.equal(code, 'tx_bypassed')
      assert.deepEqual(details, { before: [], after: ['a'] })
      return true
    })
  })

  test('detects it also when the handler fails afterwards', async () => {
    const bypassing = probe(async ({ message: row }) => {
      await rig.pool.query('insert into written (id) values ($1)', [row.id])
      throw new Error('later')
    })
    await assert.rejects(bypassing, { code: 'tx_bypassed' })
  })

  test('passes on the error of a correct handler', async () => {
    await assert.rejects(
      probe(async ({ message: row, tx }) => {
        await write(tx, row.id)
        throw new Error('honest')
      }),
      /honest/,
    )
  })

  test('runs batch handlers too', async () => {
    const consumer = defineConsumer<Row, SqlTransaction>({
      ...{ name: 'probed', owner: 'unit', risk: 'low value' as const, source: { kind: 'memory' } },
      identity: { id: m => m.id },
      handleBatch: async ({ batch }) => {
        for (const item of batch)
          await rig.pool.query('insert into written (id) values ($1)', [item.message.id])
      },
    })
    const probing = probeRollback({
      store: rig.store(),
      run: handlerOn(consumer, message),
      observe: () => rig.written(),
    })
    await assert.rejects(probing, { code: 'tx_bypassed' })
  })

  test('reports a message that cannot be read', async () => {
    const run = handlerOn(
      consumerWith(async () => {}),
      { body: Buffer.from('{') },
    )
    await assert.rejects(probeRollback({ store: rig.store(), run, observe: async () => 0 }), {
      code: 'usage',
    })
  })
})
