import { createPool } from 'onceward/postgres'
import { applyMigrations } from '../../packages/onceward/src/drivers/postgres/migrate.ts'
import { until } from '../../packages/onceward/src/testing/until.ts'
import { confirmedConsumer, contractFile, onceward, query } from './operators.ts'
import type { Fault, Stage } from './stage.ts'

/** What landed migrations did to tables in use: columns, and every function replaced. */
const laterSql = (version: number) => `
  alter table onceward.held add column chaos_${version} text;
  alter table onceward.ledger add column chaos_${version} text;
  alter table onceward.outbox_bucket add column chaos_${version} timestamptz;
  alter table onceward.run add column chaos_${version} jsonb;
  do $$ declare definition text; begin
    for definition in select pg_get_functiondef(oid) from pg_proc
      where pronamespace = 'onceward'::regnamespace and prokind = 'f' order by oid
    loop execute definition; end loop;
  end $$`

/**
 * The owner deploys a later schema while processes of this version run: they must go on, and start again on
 * it. The first time, markers move into daily partitions too. Then this version's own `migrate` finds nothing
 * to do.
 */
export const migrate: Fault = async stage => {
  const moved = await partitionMarkers(stage)
  const version = await applyLater(stage)
  await Promise.all([onceward(stage, 'migrate'), onceward(stage, 'migrate', '--roles')])
  return { version, moved }
}

/** Retention passes and lock timeouts may be in the way, as the command says. */
async function partitionMarkers(stage: Stage): Promise<number> {
  let moved = 0
  await until(
    'markers are in daily partitions',
    async () => {
      stage.signal.throwIfAborted()
      const args = ['retention', 'partition', contractFile, ...confirmedConsumer, '--json']
      const output = await onceward(stage, ...args).catch(() => null)
      if (output !== null) ({ moved } = JSON.parse(output.slice(output.indexOf('{'))) as { moved: number })
      return output !== null
    },
    { deadlineMs: 60_000 },
  )
  return moved
}

async function applyLater(stage: Stage): Promise<number> {
  const [{ version }] = (await query(
    stage,
    'select max(version) + 1 as version from onceward.migration',
  )) as [{ version: number }]
  const pool = createPool(stage.settings.outside.databaseUrl, { max: 1 })
  try {
    const later = { version, name: `chaos ${version}`, sql: laterSql(version), compatibleFrom: 1 }
    await applyMigrations(pool, [later])
  } finally {
    await pool.end()
  }
  return version
}
