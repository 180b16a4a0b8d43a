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
    .description('campaigns, newest first')
    .option('--consumer <name>', 'of one consumer')
    .option('--open', 'only those that are not over')
    .option('--limit <count>', 'how many at most', '50')
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
    .description('one campaign: its plan, how far it is, what came of it, and who did what')
    .argument('<id>', 'number of the campaign')
    .option('--limit <count>', 'findings shown at most', '20')
    .option('--json', 'print one JSON object')
    .action((id: string, flags: Flags & { limit: string }) =>
      withPool(flags.json === true, async pool => {
        const progress = await readProgress(pool, rowNumber(id, 'the campaign', lister))
        const findings = await campaignFindings(pool, id, wholeNumber(flags.limit, '--limit', lister))
        const history = await campaignHistory(pool, id)
        print(flags.json === true, { ok: true, ...progress, findingList: findings, history }, () =>
          campaignText(progress.campaign, progress, findings, history),
        )
      }),
    )
}
