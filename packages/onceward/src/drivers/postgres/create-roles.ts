import type { SqlPool } from './pool.ts'

/** Creates the group roles and grants them the rights of this version. Safe to repeat. */
export async function createRoles(pool: SqlPool): Promise<void> {
  await pool.query('select onceward.create_roles()')
}
