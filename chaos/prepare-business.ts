import { createPool, migrate } from 'onceward/postgres'
import { businessTables } from './processes/contract.ts'
import type { ChaosSettings } from './processes/settings.ts'

/** The library's schema, and the tables of the business on the small disk where there is one. */
export async function prepareBusiness(settings: ChaosSettings, tablespace: string | null): Promise<void> {
  const pool = createPool(settings.outside.databaseUrl, { max: 1 })
  try {
    await migrate(pool)
    await pool.query(businessTables(tablespace))
  } finally {
    await pool.end()
  }
}
