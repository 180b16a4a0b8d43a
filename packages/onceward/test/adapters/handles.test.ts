import { after } from 'node:test'
import { handleConformance } from 'onceward/testing'
import { openDatabase } from '../conformance/postgres.ts'
import { onOneConnection } from './one-connection.ts'

const { url, unavailable, outside, close } = await openDatabase()
after(close)
let opened = 0

for (const [name, open] of Object.entries(onOneConnection)) {
  handleConformance(name, {
    unavailable,
    async create() {
      const application = `handles_${++opened}`
      const named = new URL(url)
      named.searchParams.set('application_name', application)
      return {
        ...open(named.href),
        applied: async () =>
          (await outside.query('select key from effect')).rows.map(row => row.key as string),
        async sessions() {
          const { rows } = await outside.query(
            `select count(*)::int as total, count(*) filter (where xact_start is not null)::int as open
             from pg_stat_activity where application_name = $1`,
            [application],
          )
          return rows[0]
        },
      }
    },
  })
}
