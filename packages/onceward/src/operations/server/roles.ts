import { createRoles } from '../../drivers/postgres/create-roles.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'

/** Gives the group roles the rights of this version. Rights that were granted by hand are revoked. */
export async function grantRoles(pool: SqlPool): Promise<void> {
  await createRoles(pool)
}
