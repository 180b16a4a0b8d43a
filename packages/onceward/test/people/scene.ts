import { createPool, migrate } from 'onceward/postgres'
import { createDatabase } from '../services/services.ts'

type Pool = ReturnType<typeof createPool>

/** A migrated database of its own; `close` drops it. */
export async function openPool(): Promise<Pool & { readonly url: string; close(): Promise<void> }> {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 4 })
  await migrate(pool)
  const close = async () => {
    await pool.end()
    await database.drop()
  }
  return Object.assign(pool, { url: database.url, close })
}

/** The last act in the audit. */
export async function lastAct(pool: Pool): Promise<Record<string, unknown>> {
  const { rows } = await pool.query(
    'select actor, action, outcome, consumer, subject, reason from onceward.audit order by seq desc limit 1',
  )
  return rows[0]
}
