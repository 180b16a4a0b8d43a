import { assertInsideHorizon } from '../retention/horizon.ts'
import type { SqlClient } from '../stores/postgres/pool.ts'
import type { Campaign, Plan } from './campaign.ts'

/**
 * Where retention has removed markers, nothing tells an applied message from a new one. A campaign that would apply history from before that
 * is refused; one that starts from nothing (rebuild) or leaves nothing (forensic) is not in danger.
 */
export async function assertRemembered(
  client: SqlClient,
  { consumer, generation, mode }: Pick<Campaign, 'consumer' | 'generation' | 'mode'>,
  { oldestMs, ranges }: Pick<Plan, 'oldestMs' | 'ranges'>,
): Promise<void> {
  if (mode === 'rebuild' || mode === 'forensic') return
  const { rows } = await client.query(
    'select id from onceward.consumer where name = $1 and generation = $2',
    [consumer, generation],
  )
  await assertInsideHorizon(client, {
    consumerIds: rows.map(row => row.id as number),
    from: oldestMs === null ? null : new Date(oldestMs),
    covered: ranges.map(({ partition, from, to }) => `${partition} ${from} to ${to}`),
  })
}
