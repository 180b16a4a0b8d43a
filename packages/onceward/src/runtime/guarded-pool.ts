import { assertEnvironment, assertUsable } from '../drivers/postgres/assert-usable.ts'
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
  const pool = openGuardedPool(url)
  try {
    if (!migrates) await assertUsable(pool)
    await work(pool)
  } finally {
    await pool.end()
  }
}

/** The environment is compared on every connection. */
export function openGuardedPool(url: string, max = 1): OwnPool {
  const environment = environmentName()
  return createPool(url, {
    max,
    ...(environment !== undefined && { verify: client => assertEnvironment(client, environment) }),
  })
}
