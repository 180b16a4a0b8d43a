import type { SqlClient } from '../pool.ts'
import type { ConsumerName } from './campaign-consumer.ts'

/**
 * Messages that the live consumer has attempted without leaving a marker, unless retention may have removed
 * it. Attempts of campaigns do not count.
 */
const retried = `
  select asked.id from unnest($2::text[]) as asked (id)
  where exists (select from onceward.attempt a join onceward.run r on r.id = a.run_id
      where a.consumer_id = $1 and a.message_id = asked.id and r.campaign_id is null
        and a.at > coalesce((select h.purged_before from onceward.horizon h where h.consumer_id = $1), '-infinity') offset 0)
    and not exists (select from onceward.inbox i where i.consumer_id = $1 and i.message_id = asked.id offset 0)`

export async function findRetriedByLive(
  client: SqlClient,
  consumerId: number,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query(retried, [consumerId, ids])
  return new Set(rows.map(row => row.id as string))
}

const hasLevels = `
  select exists (select from onceward.checkpoint k join onceward.consumer c on c.id = k.consumer_id
    where c.name = $1 and c.generation = $2 and starts_with(k.partition, $3::text)) as waited`

/** Whether the consumer has read a retry level whose name begins with `prefix`. */
export async function hasReadRetryLevels(
  client: SqlClient,
  { name, generation }: ConsumerName,
  prefix: string,
): Promise<boolean> {
  const { rows } = await client.query(hasLevels, [name, generation, prefix])
  return rows[0].waited
}
