import type { CampaignMode } from '../../contract/handler.ts'
import { readConsumerId } from '../../drivers/postgres/campaign/campaign-consumer.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { assertInsideHorizon } from '../../operations/retention/horizon.ts'
import type { Campaign, CampaignPlan } from './campaign.ts'

/** Starting from nothing (rebuild) and leaving nothing (forensic) are not in danger. */
export const needsMemory = (mode: CampaignMode): boolean => mode !== 'rebuild' && mode !== 'forensic'

/**
 * Where retention has removed markers, nothing tells an applied message from a new one. A campaign that would
 * apply history from before that is refused. What waits in its own row is not in danger.
 */
export async function assertRemembered(
  client: SqlClient,
  { consumer, generation, mode, selection }: Pick<Campaign, 'consumer' | 'generation' | 'mode' | 'selection'>,
  { oldestMs, ranges }: Pick<CampaignPlan, 'oldestMs' | 'ranges'>,
): Promise<void> {
  if (!needsMemory(mode) || selection.of === 'parked') return
  const known = await readConsumerId(client, { name: consumer, generation }, oldestMs)
  await assertInsideHorizon(client, {
    consumerIds: known === null ? [] : [known.id],
    from: known?.from ?? null,
    covered: ranges.map(({ partition, from, to }) => `${partition} ${from} to ${to}`),
  })
}
