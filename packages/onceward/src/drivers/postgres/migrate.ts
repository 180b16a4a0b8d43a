import { inert, type Reach } from '../../crash-points.ts'
import { OncewardError } from '../../errors.ts'
import { assertUtf8 } from './encoding.ts'
import { type Migration, migrations } from './migrations/index.ts'
import type { SqlClient, SqlPool } from './pool.ts'
import { setRoleSettings } from './role-settings.ts'

const serverVersionMin = 150_000

export interface MigrationResult {
  readonly from: number
  readonly to: number
  readonly applied: readonly string[]
}

interface MigrateOptions {
  readonly environment?: string | undefined
  readonly reach?: Reach
}

/** Brings the schema to this version. */
export function migrate(pool: SqlPool, options: MigrateOptions = {}): Promise<MigrationResult> {
  return applyMigrations(pool, migrations, options)
}

/**
 * Each migration is one transaction under a transaction-level advisory lock, which works through PgBouncer.
 * Concurrent callers wait and find it done. A killed process leaves complete migrations, and the next call
 * continues. The list is a parameter for tests of the steps between versions.
 */
export async function applyMigrations(
  pool: SqlPool,
  list: readonly Migration[],
  { environment, reach = inert }: MigrateOptions = {},
): Promise<MigrationResult> {
  const applied: string[] = []
  let first: number | undefined
  for (;;) {
    const { from, done } = await step(pool, list, environment)
    first ??= from
    if (done === null) return { from: first, to: Math.max(first, list.at(-1)!.version), applied }
    applied.push(done)
    reach('migrate.applied')
  }
}

async function step(
  pool: SqlPool,
  list: readonly Migration[],
  environment: string | undefined,
): Promise<{ from: number; done: string | null }> {
  const client = await pool.connect()
  try {
    await client.query(`begin; set local lock_timeout = '60s'; ${setRoleSettings}`)
    await client.query(`select pg_advisory_xact_lock(hashtext('onceward.migrate'))`)
    await prepare(client, environment)
    const history = await readHistory(client)
    assertReleased(history, list, 'Nothing was changed and nothing is lost.')
    const from = history.at(-1)?.version ?? 0
    const migration = list.find(({ version }) => version > from)
    if (migration !== undefined) await apply(client, migration)
    await client.query('commit')
    client.release()
    return { from, done: migration?.name ?? null }
  } catch (error) {
    await client.query('rollback').catch(() => {})
    client.release(true)
    throw error
  }
}

async function prepare(client: SqlClient, environment: string | undefined): Promise<void> {
  const { rows } = await client.query(`select current_setting('server_version_num')::int as version`)
  if (rows[0].version < serverVersionMin) {
    throw new OncewardError(
      'configuration',
      `PostgreSQL 15 or newer is required; this server runs ${rows[0].version}. Nothing was changed.`,
    )
  }
  await assertUtf8(client)
  await client.query(`
    create schema if not exists onceward;
    create table if not exists onceward.migration (
      version integer primary key, name text not null, compatible_from integer not null,
      applied_at timestamptz not null default clock_timestamp());
    create table if not exists onceward.environment (
      one boolean primary key default true check (one), name text not null)`)
  if (environment === undefined) return
  await client.query('insert into onceward.environment (name) values ($1) on conflict do nothing', [
    environment,
  ])
  await assertEnvironment(client, environment)
}

async function apply(client: SqlClient, migration: Migration): Promise<void> {
  await client.query(migration.sql)
  await client.query('insert into onceward.migration (version, name, compatible_from) values ($1, $2, $3)', [
    migration.version,
    migration.name,
    migration.compatibleFrom,
  ])
}

interface Applied {
  readonly version: number
  readonly name: string
  readonly compatibleFrom: number
}

async function readHistory(client: Pick<SqlClient, 'query'>): Promise<readonly Applied[]> {
  const { rows } = await client.query(
    'select version, name, compatible_from as "compatibleFrom" from onceward.migration order by version',
  )
  return rows
}

/**
 * A version that this list knows under another name was created by unreleased code: it has another schema.
 */
function assertReleased(history: readonly Applied[], list: readonly Migration[], end: string): void {
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
