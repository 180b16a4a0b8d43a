import type { Enrolment } from '../../../ports/enrolment.ts'
import type { BlockedKey } from '../../../ports/key-order.ts'
import type { SqlClient } from '../pool.ts'
import { anyFirst } from './any-first.ts'

const anyBlocked = anyFirst('select from onceward.blocked_key where consumer_id = $1 order by key')

/** Locked, so that an operator who releases the key waits for messages that are being parked behind it. */
const eachOf = `
  select asked.key, blocked.* from (select key from unnest($2::text[]) as key order by key collate "C") asked
  cross join lateral (
    select state = 'released' as released, waiting from onceward.blocked_key b
    where b.consumer_id = $1 and b.key = asked.key limit 1 for share) blocked`

const none: ReadonlyMap<string, BlockedKey> = new Map()

export async function blockedKeys(
  client: SqlClient,
  enrolment: Enrolment,
  keys: readonly string[],
): Promise<ReadonlyMap<string, BlockedKey>> {
  if (!(await anyBlocked(client, enrolment, keys.length))) return none
  const { rows } = await client.query(eachOf, [enrolment.consumerId, keys])
  return new Map(rows.map(({ key, released, waiting }) => [key as string, { released, waiting }]))
}
