import type { CampaignMode } from '../../contract/handler.ts'
import { readConsumerId } from '../../drivers/postgres/campaign/campaign-consumer.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { assertInsideHorizon } from '../../operations/retention/horizon.ts'
import type { Campaign, CampaignPlan } from './campaign.ts'

/** False for a rebuild, which starts empty, and for a forensic campaign, which keeps nothing. */
export const needsMemory = (mode: CampaignMode): boolean => mode !== 'rebuild' && mode !== 'forensic'

/**
 * Refuses a campaign that would apply history from before markers were removed: without a marker, an applied
 * message looks new. Parked messages have a row and are safe.
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
