import { Command } from 'commander'
import { listCampaigns } from '../../../replay/campaign/campaign.ts'
import { readProgress } from '../../../replay/campaign/campaign-progress.ts'
import { campaignFindings, campaignHistory } from '../../../replay/campaign/steer-campaign.ts'
import { withPool } from '../../database.ts'
import { print } from '../../output.ts'
import { rowNumber, wholeNumber } from '../../whole-number.ts'
import { type Flags, lister } from './flags.ts'
import { campaignsTable, campaignText } from './text.ts'

export function listCommand(): Command {
  return new Command('list')
    .description('list campaigns, newest first')
    .option('--consumer <name>', "only this consumer's")
    .option('--open', 'only campaigns that have not ended')
    .option('--limit <count>', 'maximum number of campaigns', '50')
    .option('--json', 'print one JSON object')
    .action((flags: Flags & { consumer?: string; open?: boolean; limit: string }) =>
      withPool(flags.json === true, async pool => {
        const campaigns = await listCampaigns(pool, {
          consumer: flags.consumer,
          open: flags.open === true,
          countMax: wholeNumber(flags.limit, '--limit', lister),
        })
        print(flags.json === true, { ok: true, campaigns }, () => campaignsTable(campaigns))
      }),
    )
}

export function showCommand(): Command {
  return new Command('show')
    .description('show one campaign: plan, progress, outcomes and acts')
    .argument('<id>', 'campaign id')
    .option('--limit <count>', 'maximum number of findings', '20')
    .option('--json', 'print one JSON object')
    .action((id: string, flags: Flags & { limit: string }) =>
      withPool(flags.json === true, async pool => {
        const progress = await readProgress(pool, rowNumber(id, 'campaign id', lister))
        const findings = await campaignFindings(pool, id, wholeNumber(flags.limit, '--limit', lister))
        const history = await campaignHistory(pool, id)
        print(flags.json === true, { ok: true, ...progress, findingList: findings, history }, () =>
          campaignText(progress.campaign, progress, findings, history),
        )
      }),
    )
}
