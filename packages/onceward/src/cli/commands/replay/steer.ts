import { Command } from 'commander'
import { readCampaign } from '../../../replay/campaign/campaign.ts'
import {
  approveCampaign,
  assertTyped,
  campaignFindings,
  cancelCampaign,
  finishCampaign,
  pauseCampaign,
  verifyCampaign,
} from '../../../replay/campaign/steer-campaign.ts'
import { withPool } from '../../database.ts'
import { print } from '../../output.ts'
import { rowNumber, wholeNumber } from '../../whole-number.ts'
import { type Flags, lister, type Typed, typed } from './flags.ts'
import { campaignText } from './text.ts'

export function approveCommand(): Command {
  return typed(
    new Command('approve').description(
      'approve the previewed plan of a campaign that another person created',
    ),
  )
    .requiredOption('--plan <digest>', 'digest of the plan, from the preview')
    .requiredOption('--because <reason>', 'reason, recorded with the approval')
    .option('--hours <count>', 'how long the approval is valid', '24')
    .action((id: string, flags: Typed & { plan: string; because: string; hours: string }) =>
      withPool(flags.json === true, async pool => {
        assertTyped(await readCampaign(pool, rowNumber(id, 'campaign id', lister)), flags.consumer)
        const { plan: planDigest, because } = flags
        const hours = wholeNumber(flags.hours, '--hours', lister)
        const campaign = await approveCampaign(pool, id, { planDigest, because, hours })
        print(flags.json === true, { ok: true, campaign }, () => campaignText(campaign))
      }),
    )
}

export function pauseCommand(): Command {
  return new Command('pause')
    .description('pause a campaign after its current batch')
    .argument('<id>', 'campaign id')
    .requiredOption('--because <reason>', 'reason, recorded with the campaign')
    .option('--json', 'print one JSON object')
    .action((id: string, flags: Flags & { because: string }) =>
      withPool(flags.json === true, async pool => {
        const campaign = await pauseCampaign(pool, rowNumber(id, 'campaign id', lister), flags.because)
        print(flags.json === true, { ok: true, campaign }, () => campaignText(campaign))
      }),
    )
}

export function cancelCommand(): Command {
  return typed(new Command('cancel').description('cancel a campaign; applied messages stay applied'))
    .requiredOption('--because <reason>', 'reason, recorded with the campaign')
    .action((id: string, flags: Typed & { because: string }) =>
      withPool(flags.json === true, async pool => {
        assertTyped(await readCampaign(pool, rowNumber(id, 'campaign id', lister)), flags.consumer)
        const campaign = await cancelCampaign(pool, id, flags.because)
        print(flags.json === true, { ok: true, campaign }, () => campaignText(campaign))
      }),
    )
}

export function verifyCommand(): Command {
  return new Command('verify')
    .description('check that every range was read to its end, and list outcomes and findings')
    .argument('<id>', 'campaign id')
    .option('--limit <count>', 'maximum number of findings', '20')
    .option('--json', 'print one JSON object')
    .action((id: string, flags: Flags & { limit: string }) =>
      withPool(flags.json === true, async pool => {
        const verification = await verifyCampaign(pool, rowNumber(id, 'campaign id', lister))
        const findings = await campaignFindings(pool, id, wholeNumber(flags.limit, '--limit', lister))
        print(flags.json === true, { ok: true, ...verification, findings }, () =>
          campaignText(verification.progress.campaign, verification.progress, findings),
        )
        if (!verification.complete) process.exitCode = 1
      }),
    )
}

export function finishCommand(): Command {
  return typed(
    new Command('finish').description('finish a verified campaign; a rebuild drops its old tables'),
  ).action((id: string, flags: Typed) =>
    withPool(flags.json === true, async pool => {
      assertTyped(await readCampaign(pool, rowNumber(id, 'campaign id', lister)), flags.consumer)
      const campaign = await finishCampaign(pool, id)
      print(flags.json === true, { ok: true, campaign }, () => campaignText(campaign))
    }),
  )
}
