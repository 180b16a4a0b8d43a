import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { skipWithoutPrivateRabbitmq } from '../packages/onceward/test/services/private-rabbitmq.ts'
import { skipWithout } from '../packages/onceward/test/services/services.ts'
import { runChaos } from './run-command-line.ts'

/** Each source and each database once; `npm run chaos` has all combinations. */
const cells = 'postgres/pgbouncer,quorum/standby,stream/direct,kafka/standby'
const rabbitmq = await skipWithoutPrivateRabbitmq()
const kafka = await skipWithout('kafka')

describe('npm run chaos', { ...rabbitmq, ...kafka }, () => {
  test('every kind of fault on every source: nothing is lost, doubled, out of order or unexplained', async () => {
    const run = runChaos(['--cells', cells, '--minutes', '6'])
    const { ok, messages, kills, ...wrong } = await run.totals()
    assert.deepEqual(wrong, { lost: 0, doubled: 0, outOfOrder: 0, unexplained: 0 }, run.said())
    assert.equal(ok, true, run.said())
    assert.ok(messages > 5_000, `${messages} messages`)
    assert.ok(Object.keys(kills).length > 20, JSON.stringify(kills))
  })
})
