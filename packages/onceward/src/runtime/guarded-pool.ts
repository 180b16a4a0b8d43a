import { assertEnvironment, assertUsable } from '../drivers/postgres/migrate.ts'
import { createPool, type OwnPool } from '../drivers/postgres/pool.ts'
import { environmentName } from './addresses.ts'

/**
 * The pool of a command. The environment is compared on every connection, before the command gets it.
 * `migrates`: the schema may be missing or old.
 */
export async function withGuardedPool(
  url: string,
  work: (pool: OwnPool) => Promise<void>,
  { migrates = false } = {},
): Promise<void> {
  const environment = environmentName()
  const pool = createPool(url, {
    max: 1,
    ...(environment !== undefined && { verify: client => assertEnvironment(client, environment) }),
  })
  try {
    if (!migrates) await assertUsable(pool)
    await work(pool)
  } finally {
    await pool.end()
  }
}
