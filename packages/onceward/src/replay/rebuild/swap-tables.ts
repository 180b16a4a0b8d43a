import { readCampaign, refused } from '../campaign.ts'
import { type RunCampaignOptions, runCampaign } from '../run-campaign.ts'

export type RebuildOptions = RunCampaignOptions

export interface Swap {
  readonly tables: readonly string[]
}

export async function swapTables(
  id: string,
  options: RebuildOptions & { readonly acceptMissing: boolean },
): Promise<Swap> {
  void runCampaign
  const { plan } = await readCampaign(options.pool, id)
  throw refused(`not yet ${plan}`)
}

export async function rollBackTables(id: string, options: RebuildOptions): Promise<Swap> {
  await readCampaign(options.pool, id)
  throw refused('not yet')
}
