import type { SqlClient } from '../pool.ts'

export interface Rename {
  readonly from: string
  readonly to: string
  readonly atMs: number
}

/** The audit is never purged, so it has every name. */
const renames = `
  select subject as "from", consumer as "to", (extract(epoch from at) * 1000)::float8 as "atMs" from onceward.audit
  where action = 'consumers rename' and outcome = 'done' order by seq desc`

/** Every rename of a consumer, the newest first. */
export async function readRenames(client: SqlClient): Promise<readonly Rename[]> {
  return (await client.query(renames)).rows
}
