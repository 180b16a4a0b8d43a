import { inert, type Reach } from '../../crash-points.ts'
import { OncewardError } from '../../errors.ts'
import { assertEnvironment, assertReleased, readHistory } from './assert-usable.ts'
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
