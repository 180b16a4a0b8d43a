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
    new Command('approve').description('approve exactly the plan that was previewed; not your own'),
  )
    .requiredOption('--plan <digest>', 'digest of the plan, from the preview')
    .requiredOption('--because <reason>', 'why; kept with the approval')
    .option('--hours <count>', 'how long the approval lasts', '24')
    .action((id: string, flags: Typed & { plan: string; because: string; hours: string }) =>
      withPool(flags.json === true, async pool => {
        assertTyped(await readCampaign(pool, rowNumber(id, 'the campaign', lister)), flags.consumer)
        const { plan: planDigest, because } = flags
        const hours = wholeNumber(flags.hours, '--hours', lister)
        const campaign = await approveCampaign(pool, id, { planDigest, because, hours })
        print(flags.json === true, { ok: true, campaign }, () => campaignText(campaign))
      }),
    )
}

export function pauseCommand(): Command {
  return new Command('pause')
    .description('ask the process that runs it to stop after what it has under way')
    .argument('<id>', 'number of the campaign')
    .requiredOption('--because <reason>', 'why; kept with the campaign')
    .option('--json', 'print one JSON object')
    .action((id: string, flags: Flags & { because: string }) =>
      withPool(flags.json === true, async pool => {
        const campaign = await pauseCampaign(pool, rowNumber(id, 'the campaign', lister), flags.because)
        print(flags.json === true, { ok: true, campaign }, () => campaignText(campaign))
      }),
    )
}

export function cancelCommand(): Command {
  return typed(new Command('cancel').description('end it for good; what was applied stays applied'))
    .requiredOption('--because <reason>', 'why; kept with the campaign')
    .action((id: string, flags: Typed & { because: string }) =>
      withPool(flags.json === true, async pool => {
        assertTyped(await readCampaign(pool, rowNumber(id, 'the campaign', lister)), flags.consumer)
        const campaign = await cancelCampaign(pool, id, flags.because)
        print(flags.json === true, { ok: true, campaign }, () => campaignText(campaign))
      }),
    )
}

export function verifyCommand(): Command {
  return new Command('verify')
    .description('whether every range was read to its end, what came of it, and what people should look at')
    .argument('<id>', 'number of the campaign')
    .option('--limit <count>', 'findings shown at most', '20')
    .option('--json', 'print one JSON object')
    .action((id: string, flags: Flags & { limit: string }) =>
      withPool(flags.json === true, async pool => {
        const verification = await verifyCampaign(pool, rowNumber(id, 'the campaign', lister))
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
    new Command('finish').description('end a verified campaign; a rebuild loses its old tables with this'),
  ).action((id: string, flags: Typed) =>
    withPool(flags.json === true, async pool => {
      assertTyped(await readCampaign(pool, rowNumber(id, 'the campaign', lister)), flags.consumer)
      const campaign = await finishCampaign(pool, id)
      print(flags.json === true, { ok: true, campaign }, () => campaignText(campaign))
    }),
  )
}
