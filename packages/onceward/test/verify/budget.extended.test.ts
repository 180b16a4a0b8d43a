import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { assertVerified, verifyConsumer } from 'onceward/testing'
import { postgresUrl, skipWithout } from '../services/services.ts'
import { samples, tables } from './sleeper.ts'

describe('the budget of verify', await skipWithout('postgres'), () => {
  it('is not exceeded by a run that hangs, which counts as not run', async () => {
    const report = await verifyConsumer({
      file: join(import.meta.dirname, 'sleeper.ts'),
      databaseUrl: await postgresUrl(),
      prepare: async pool => void (await pool.query(tables)),
      samples,
      fault: 'order:1',
      budgetMs: 40_000,
    })
    assert.ok(report.seconds < 55, `${report.seconds} s`)
    assert.equal(report.ok, false)
    const order = report.classes.find(one => one.class === 'order')!
    assert.deepEqual([order.survived, order.of, order.note], [0, 0, '1 not run: the budget ended'])
    const [failure] = report.failures
    assert.equal(failure!.class, 'not staged')
    assert.match(failure!.what, /before any fault of these classes was staged: order\./)
    assert.match(failure!.fix, /^--budget \d+s should suffice/)
    assert.throws(() => assertVerified(report), /before any fault of these classes was staged: order/)
  })
})
