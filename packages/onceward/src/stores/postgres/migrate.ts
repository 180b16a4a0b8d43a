import { inert, type Reach } from '../../crash-points.ts'
import { OncewardError } from '../../errors.ts'
import { assertUtf8 } from './encoding.ts'
import { type Migration, migrations } from './migrations/index.ts'
import type { SqlClient, SqlPool } from './pool.ts'
import { setRoleSettings } from './role-settings.ts'

const serverVersionMin = 150_000
const newest = migrations.at(-1)!

export interface MigrationResult {
  readonly from: number
  readonly to: number
  readonly applied: readonly string[]
}

/**
 * Brings the schema to this version. Each migration is one transaction under an advisory lock that ends with it (so it works
 * through PgBouncer): concurrent callers wait and find it done, a killed one leaves whole steps behind, and the next goes on.
 */
export async function migrate(
  pool: SqlPool,
  options: { readonly environment?: string | undefined; readonly reach?: Reach } = {},
): Promise<MigrationResult> {
  const applied: string[] = []
  const { from } = await step(pool, options.environment, () => null)
  if (from > 0) await assertAllEmpty(pool, from)
  for (;;) {
    const { done } = await step(pool, options.environment, version =>
      migrations.find(m => m.version > version),
    )
    if (done === null) break
    applied.push(done)
    ;(options.reach ?? inert)('migrate.applied')
  }
  return { from, to: Math.max(from, newest.version), applied }
}

async function step(
  pool: SqlPool,
  environment: string | undefined,
  choose: (version: number) => Migration | null | undefined,
): Promise<{ from: number; done: string | null }> {
  const client = await pool.connect()
  try {
    await client.query(`begin; set local lock_timeout = '60s'; ${setRoleSettings}`)
    await client.query(`select pg_advisory_xact_lock(hashtext('onceward.migrate'))`)
    await prepare(client, environment)
    const { rows } = await client.query('select coalesce(max(version), 0) as version from onceward.migration')
    const from = rows[0].version as number
    const migration = choose(from) ?? null
    if (migration !== null) await apply(client, migration)
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
      `PostgreSQL 15 or newer is needed, this is ${rows[0].version}. Nothing was changed.`,
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
  if (migration.emptied !== undefined) {
    // Writers wait behind the lock, so that no row is added between the look and the change.
    await client.query(`lock table ${migration.emptied.table} in access exclusive mode`)
    await assertEmpty(client, migration.emptied)
  }
  await client.query(migration.sql)
  await client.query('insert into onceward.migration (version, name, compatible_from) values ($1, $2, $3)', [
    migration.version,
    migration.name,
    migration.compatibleFrom,
  ])
}

/** Before the first step, so that a refusal leaves the schema as it was. */
async function assertAllEmpty(pool: SqlPool, from: number): Promise<void> {
  for (const { version, emptied } of migrations)
    if (version > from && emptied !== undefined) await assertEmpty(pool, emptied)
}

async function assertEmpty(
  client: Pick<SqlClient, 'query'>,
  { table, how }: NonNullable<Migration['emptied']>,
): Promise<void> {
  const { rows } = await client.query(
    `select count(*)::int as n from (select from ${table} limit 100000) counted`,
  )
  const n = rows[0].n as number
  if (n === 0) return
  throw new OncewardError(
    'configuration',
    `Table ${table} still has ${n} rows of the version before. ${how} Nothing was changed and nothing is lost.`,
    { details: { table, rows: n } },
  )
}

/** The gate: older code on a newer schema works only while that schema says so; newer code wants its own. */
export async function assertUsable(pool: Pick<SqlPool, 'query'>, environment?: string): Promise<void> {
  await assertUtf8(pool)
  const { rows } = await pool.query(`select to_regclass('onceward.migration') is not null as present`)
  const found = rows[0].present
    ? await pool.query(
        'select version, (select max(compatible_from) from onceward.migration) as compatible_from from onceward.migration order by version desc limit 1',
      )
    : { rows: [] }
  const schema = found.rows[0] as { version: number; compatible_from: number } | undefined
  const fix = 'Nothing was started and nothing is lost.'
  if (schema === undefined) {
    throw new OncewardError(
      'schema_missing',
      `The database has no Onceward schema. Run "onceward migrate". ${fix}`,
    )
  }
  if (schema.version < newest.version) {
    throw new OncewardError(
      'schema_too_old',
      `The schema is at version ${schema.version}, this process needs ${newest.version}. Run "onceward migrate". ${fix}`,
    )
  }
  if (schema.compatible_from > newest.version) {
    throw new OncewardError(
      'schema_too_new',
      `The schema is at version ${schema.version} and works with code from version ${schema.compatible_from} on; this process knows ${newest.version}. Deploy a newer version. ${fix}`,
    )
  }
  if (environment !== undefined) await assertEnvironment(pool, environment)
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
    `This process is set up for environment "${environment}", but the database belongs to "${actual}". Nothing was started or changed. Check the connection string and ONCEWARD_ENVIRONMENT.`,
  )
}
