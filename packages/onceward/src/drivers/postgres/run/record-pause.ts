import type { SqlPool } from '../pool.ts'

const pause = 'update onceward.run set paused_since = clock_timestamp(), paused_reason = $2 where id = $1'
const resume = `
  update onceward.run set paused_since = null, paused_reason = null where id = any($1::integer[])`

export async function recordPause(pool: SqlPool, runId: number, because: string): Promise<void> {
  await pool.query(pause, [runId, because])
}

export async function recordResumption(pool: SqlPool, runIds: readonly number[]): Promise<void> {
  await pool.query(resume, [runIds])
}
