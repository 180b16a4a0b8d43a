import { after, describe, test } from 'node:test'
import { HandleBench } from '../../src/testing/conformance/handle-bench.ts'
import { openDatabase } from '../conformance/postgres.ts'
import { onOneConnection } from './one-connection.ts'

const { url, unavailable, outside, close } = await openDatabase()
after(close)
let opened = 0

async function openBench(library: string, parameters: Record<string, string> = {}) {
  const application = `broken_${++opened}`
  const named = new URL(url)
  for (const [name, value] of Object.entries({ ...parameters, application_name: application }))
    named.searchParams.set(name, value)
  const ofStore = `from pg_stat_activity where application_name = '${application}'`
  const bench = new HandleBench({
    ...onOneConnection[library]!(named.href),
    applied: async () => (await outside.query('select key from effect')).rows.map(row => row.key as string),
    async sessions() {
      const { rows } = await outside.query(
        `select count(*)::int as total, count(*) filter (where xact_start is not null)::int as open ${ofStore}`,
      )
      return rows[0]
    },
  })
  return {
    bench,
    kill: () => outside.query(`select pg_terminate_backend(pid, 10000) ${ofStore}`),
    [Symbol.asyncDispose]: () => bench.close(),
  }
}

describe('a connection that is or may be lost under a failed handler', { skip: unavailable }, () => {
  for (const library of ['Kysely', 'Knex', 'Drizzle', 'pg', 'a port whose library queues'])
    test(`${library}: a ROLLBACK without a timely answer leaves nothing for the next batch`, async () => {
      await using opened = await openBench(library, { query_timeout: '400' })
      const { bench } = opened
      await bench.start(
        async ({ tx }) => {
          await bench.apply(tx, 'half')
          await bench.under.pause(tx, 2_500)
        },
        {},
        1,
      )
      await bench.expectOnce()
    })

  for (const library of ['Kysely', 'Knex'])
    test(`${library}: rows of a lost session do not block the consumer`, async () => {
      await using opened = await openBench(library)
      const { bench, kill } = opened
      await bench.start(
        async ({ tx }) => {
          await bench.apply(tx, 'half')
          await bench.under.rows!(tx).next()
          await kill()
          throw new Error('no')
        },
        {},
        1,
      )
      await bench.expectOnce()
    })
})
