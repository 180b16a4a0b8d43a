import type { SqlClient } from '../drivers/postgres/pool.ts'
import { ledgerColumns } from './read-effects.ts'

/** Consumers and targets there are in the ledger, from one entry of its index to the next. */
const targets = `
  with recursive known as (
    (select consumer_name, target from onceward.ledger order by consumer_name, target limit 1)
    union all
    select next.* from known k cross join lateral (
      select l.consumer_name, l.target from onceward.ledger l where (l.consumer_name, l.target) > (k.consumer_name, k.target)
      order by l.consumer_name, l.target limit 1) next)
  select consumer_name, target from known
  where ($1::text is null or consumer_name = $1) and ($2::text is null or target = $2)`

const rows = `
  select ${ledgerColumns} from (${targets}) k
  cross join lateral (select * from onceward.ledger l
    where l.consumer_name = k.consumer_name and l.target = k.target and l.effect_key = $3 limit 1) l`

/** Rows of the ledger with this key, at whichever consumer and target. */
export async function findEffects(
  client: SqlClient,
  key: string,
  target: string | null,
  consumer: string | undefined,
): Promise<readonly Record<string, unknown>[]> {
  return (await client.query(rows, [consumer ?? null, target, key])).rows
}
