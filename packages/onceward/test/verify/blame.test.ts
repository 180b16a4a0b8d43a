import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type VerifyOptions, verifyConsumer } from 'onceward/testing'
import { postgresUrl, skipWithout } from '../services/services.ts'
import { exhibit as counted } from './gallery/counter-in-header.ts'
import { exhibit as clocks } from './gallery/other-clocks.ts'

const verify = async (name: string, tables: string, more: Partial<VerifyOptions>) =>
  verifyConsumer({
    file: join(import.meta.dirname, 'gallery', `${name}.ts`),
    databaseUrl: await postgresUrl(),
    prepare: async pool => void (tables !== '' && (await pool.query(tables))),
    shrink: false,
    jobs: 1,
    budgetMs: 600_000,
    ...more,
  })

describe('what verify blames', await skipWithout('postgres'), () => {
  it('every clock and every random number of Node is the handler’s, not the database’s', async () => {
    const { volatile, warnings } = await verify('other-clocks', clocks.tables, {
      samples: clocks.samples,
      only: ['leak'],
    })
    const columns = ['elapsed', 'filled', 'later', 'nanoseconds', 'number', 'seconds']
    assert.deepEqual(
      volatile.toSorted((a, b) => (a.column < b.column ? -1 : 1)),
      columns.map(column => ({ column: `mark.${column}`, from: 'handler' })),
    )
    assert.match(warnings[0]!.what, /The row key mark\.number/)
  })

  it('a header of a published message is compared', async () => {
    const { failures } = await verify('counter-in-header', counted.tables, {
      samples: counted.samples,
      fault: 'rollback:1',
    })
    assert.match(failures[0]!.what, /keeps something in memory/)
    const [difference] = failures[0]!.differences
    assert.equal(difference!.where, 'publications')
    assert.deepEqual(difference!.extra.map(row => row['header number']).sort(), ['4', '5', '6'])
  })
})
