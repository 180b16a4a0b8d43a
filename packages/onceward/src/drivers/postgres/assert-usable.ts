import { OncewardError } from '../../errors.ts'
import { assertUtf8 } from './encoding.ts'
import { type Migration, migrations } from './migrations/index.ts'
import type { SqlClient, SqlPool } from './pool.ts'

interface Applied {
  readonly version: number
  readonly name: string
  readonly compatibleFrom: number
}

/** The applied migrations, in order. */
export async function readHistory(client: Pick<SqlClient, 'query'>): Promise<readonly Applied[]> {
  const { rows } = await client.query(
    'select version, name, compatible_from as "compatibleFrom" from onceward.migration order by version',
  )
  return rows
}

/**
 * A version that this list knows under another name was created by unreleased code: it has another schema.
 */
export function assertReleased(history: readonly Applied[], list: readonly Migration[], end: string): void {
  const other = history.find(({ version, name }) =>
    list.some(known => known.version === version && known.name !== name),
  )
  if (other === undefined) return
  throw new OncewardError(
    'configuration',
    `The schema was created by an unreleased version: its migration ${other.version} is "${other.name}". It cannot be migrated. ${end} Dump the data you need, create a new database, and run "onceward migrate" there.`,
    { details: { version: other.version, name: other.name } },
  )
}

/** Older code runs on a newer schema only while that schema allows it; newer code requires its own schema. */
export async function assertUsable(pool: Pick<SqlPool, 'query'>, environment?: string): Promise<void> {
  await assertUtf8(pool)
  await assertSchema(pool, migrations)
  if (environment !== undefined) await assertEnvironment(pool, environment)
}

/** The schema check of `assertUsable`. The list is a parameter for tests. */
export async function assertSchema(pool: Pick<SqlPool, 'query'>, list: readonly Migration[]): Promise<void> {
  const { rows } = await pool.query(`select to_regclass('onceward.migration') is not null as present`)
  const history = rows[0].present ? await readHistory(pool) : []
  const end = 'Nothing was started and nothing is lost.'
  const at = history.at(-1)?.version
  const newest = list.at(-1)!.version
  if (at === undefined) {
    throw new OncewardError(
      'schema_missing',
      `The database has no Onceward schema. Run "onceward migrate". ${end}`,
    )
  }
  assertReleased(history, list, end)
  if (at < newest) {
    throw new OncewardError(
      'schema_too_old',
      `The schema is at version ${at}; this process needs version ${newest}. Run "onceward migrate". ${end}`,
    )
  }
  // The strictest migration counts: a later one with a lower requirement does not readmit older code.
  const compatibleFrom = Math.max(...history.map(step => step.compatibleFrom))
  if (compatibleFrom > newest) {
    throw new OncewardError(
      'schema_too_new',
      `The schema is at version ${at} and requires code of version ${compatibleFrom} or newer; this process has version ${newest}. Deploy a newer version. ${end}`,
    )
  }
}

/** A database without the schema belongs to no environment yet. */
export async function assertEnvironment(client: SqlClient, environment: string): Promise<void> {
  const { rows } = await client
    .query('select name from onceward.environment')
    .catch((error: { code?: string }) => {
      if (error.code === '42P01' || error.code === '3F000') return { rows: [] }
      throw error
    })
  const actual = rows[0]?.name as string | undefined
  if (actual === undefined || actual === environment) return
  throw new OncewardError(
    'wrong_environment',
    `This process is configured for environment "${environment}", but the database belongs to "${actual}". Nothing was started or changed. Check the connection string and ONCEWARD_ENVIRONMENT.`,
  )
}
