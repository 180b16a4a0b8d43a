import { readFileSync } from 'node:fs'
import { defineConsumer, runConsumer } from 'onceward'
import { createPool, migrate, queueDepth } from 'onceward/postgres'
import { until } from 'onceward/testing'
import invoiceBooking, { queue } from '../../../../examples/09-parking-drill/invoice-booking.ts'
import { morning, send } from '../../../../examples/09-parking-drill/produce.ts'
import { People } from '../../../onceward/test/parking/people.ts'
import { createDatabase } from '../../../onceward/test/services/services.ts'
import { type ServedConsole, type ServeOptions, serveConsole } from '../../src/server/serve-console.ts'
import type { InvoiceSource } from './invoice-sources.ts'

type Pool = ReturnType<typeof createPool>

const tables = new URL('../../../../examples/09-parking-drill/tables.sql', import.meta.url)

/** The morning of example 09: a database with its consumer, parked invoices, and a login of a console. */
export interface Incident {
  readonly pool: Pool
  readonly databaseUrl: string
  /** The address with the login of the console. */
  readonly consoleUrl: string
  readonly people: People
  /** Ids of bookings in the order of their accounts. */
  booked(): Promise<readonly string[]>
  serve(options: Pick<ServeOptions, 'auth'> & Partial<ServeOptions>): Promise<ServedConsole>
  close(): Promise<void>
}

export async function openIncident(
  options: { readonly persons?: readonly string[]; readonly source?: InvoiceSource } = {},
): Promise<Incident> {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 4 })
  await migrate(pool)
  await pool.query('select onceward.create_roles()')
  await pool.query(readFileSync(tables, 'utf8'))
  await pool.query(`insert into account (id) values ('north'), ('east'), ('west')`)
  const people = new People(pool, database.url)
  const desk = await people.login(['onceward_console'], { person: false })
  for (const name of options.persons ?? ['ann', 'bob'])
    await pool.query('insert into onceward.person (role_name) values ($1)', [name])
  const { source } = options
  const contract =
    source === undefined
      ? invoiceBooking
      : defineConsumer({
          ...invoiceBooking.declared,
          source: source.declaration,
          retention: { sourceKeeps: '14d' },
        })
  const running = await runConsumer(contract, { databaseUrl: database.url, ...source?.run })
  await (source?.send(morning) ?? send(pool, morning))
  await until('every invoice is booked or held', async () => {
    const { rows } = await pool.query(`
      select (select count(*) from booking)::int + (select count(*) from onceward.held)::int as settled`)
    return rows[0].settled === morning.length
  })
  if (source === undefined)
    await until('the queue is empty', async () => (await queueDepth(pool, queue)).messages === 0)
  const served: ServedConsole[] = []
  return {
    pool,
    databaseUrl: database.url,
    consoleUrl: desk.url,
    people,
    booked: async () =>
      (await pool.query('select invoice_id from booking order by account_id, number')).rows.map(
        row => row.invoice_id as string,
      ),
    serve: async given => {
      const one = await serveConsole({
        database: desk.url,
        port: 0,
        contracts: [contract as never],
        ...given,
      })
      served.push(one)
      return one
    },
    close: async () => {
      for (const one of served) await one.close()
      await running.drain()
      await source?.close()
      await people.close()
      await pool.end()
      await database.drop()
    },
  }
}
