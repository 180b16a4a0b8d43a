import type { SqlPool } from '../../src/drivers/postgres/pool.ts'

/** Counts whole batches in one row, so that consumers side by side wait for each other as often as can be. */
export const remembering = {
  name: 'remembering',
  risk: 'low value' as const,
  handleBatch: async ({ batch, tx }: { batch: readonly unknown[]; tx: { query(sql: string): unknown } }) => {
    await tx.query(
      `insert into count values ('all', ${batch.length}) on conflict (key) do update set times = count.times + excluded.times`,
    )
  },
}

/** Its table, and a server that looks for circles of waits soon. */
export async function prepareRemembering(pool: SqlPool): Promise<void> {
  await pool.query('create table count (key text primary key, times integer not null)')
  await pool.query(
    `do $$ begin execute format('alter database %I set deadlock_timeout = 20', current_database()); end $$`,
  )
}
