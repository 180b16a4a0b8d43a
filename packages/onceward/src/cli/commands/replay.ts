import { Command, Option } from 'commander'
import type { CampaignMode } from '../../contract/contract.ts'
import { campaignModes, listCampaigns, readCampaign } from '../../replay/campaign.ts'
import { readProgress } from '../../replay/campaign-progress.ts'
import {
  approveCampaign,
  assertTyped,
  campaignFindings,
  campaignHistory,
  cancelCampaign,
  finishCampaign,
  pauseCampaign,
  verifyCampaign,
} from '../../replay/steer-campaign.ts'
import { withPool } from '../database.ts'
import { print } from '../output.ts'
import { campaignsTable, campaignText, previewText, progressLine } from '../replay-text.ts'
import { type SelectionFlags, selectionOf } from '../selection-flags.ts'
import { rowNumber, wholeNumber } from '../whole-number.ts'
import { withReplay } from '../with-replay.ts'

const lister = 'onceward replay list'

interface Flags {
  json?: boolean
}
type Typed = Flags & { consumer: string }

/** Campaigns: history read again, on purpose, by people who can say why. */
export function replayCommand(): Command {
  return new Command('replay')
    .description('campaigns: ask for one, see what it covers, approve, run, pause, resume, verify, finish')
    .addCommand(createCommand())
    .addCommand(previewCommand())
    .addCommand(approveCommand())
    .addCommand(runCommand('run', 'run it in this process, to its end or until it is paused'))
    .addCommand(runCommand('resume', 'the same as run: it goes on where it stands'))
    .addCommand(pauseCommand())
    .addCommand(cancelCommand())
    .addCommand(verifyCommand())
    .addCommand(
      swapCommand('swap', 'rebuild: put the new tables in the place of the live ones, in one transaction'),
    )
    .addCommand(
      swapCommand('rollback', 'rebuild: put the old tables back, and forget what was applied since'),
    )
    .addCommand(finishCommand())
    .addCommand(listCommand())
    .addCommand(showCommand())
}

function createCommand(): Command {
  return new Command('create')
    .description('write down what is asked for; nothing is read and nothing runs')
    .argument('<file>', 'module whose default export is the consumer')
    .addOption(new Option('--mode <mode>', 'what it is for').choices(campaignModes).makeOptionMandatory())
    .requiredOption('--because <reason>', 'why; kept with the campaign')
    .option('--from <edge>', "the log's first record, an ISO time, or partition=offset,…", 'first')
    .option('--to <edge>', 'now, an ISO time, or partition=offset,…', 'now')
    .option('--file <path>', 'JSON lines instead of the log the contract reads')
    .option('--held <states>', 'messages this store still holds instead of the log: parked,dead,…')
    .option('--key <key...>', 'repair: only messages of these keys')
    .option('--rebuild-keys', 'repair: the keys a projection has left for a rebuild')
    .option('--rate <count>', 'messages a second at most')
    .option('--request-effects', 'backfill, repair: let external effects and messages happen; needs approval')
    .option('--dry-run', 'say what would be created')
    .option('--json', 'print one JSON object')
    .action(async (file: string, flags: CreateFlags) => {
      const request = {
        mode: flags.mode,
        selection: selectionOf(flags),
        rebuildKeys: flags.rebuildKeys === true,
        reason: flags.because,
        effects: flags.requestEffects ? ('requested' as const) : ('suppressed' as const),
        rateMax: flags.rate === undefined ? null : wholeNumber(flags.rate, '--rate', lister),
      }
      if (flags.dryRun)
        return print(flags.json === true, { ok: true, dryRun: true, request }, () =>
          JSON.stringify(request, null, 2),
        )
      await withReplay(file, flags.json === true, async replay => {
        const campaign = await replay.create(request)
        print(flags.json === true, { ok: true, campaign }, () => campaignText(campaign))
      })
    })
}

type CreateFlags = Flags &
  SelectionFlags & {
    mode: CampaignMode
    because: string
    rate?: string
    rebuildKeys?: boolean
    requestEffects?: boolean
    dryRun?: boolean
  }

function previewCommand(): Command {
  return new Command('preview')
    .description('find out what it covers now, and fix that; reads the first record of each range')
    .argument('<file>', 'module whose default export is the consumer')
    .argument('<id>', 'number of the campaign')
    .option('--dry-run', 'fix nothing')
    .option('--json', 'print one JSON object')
    .action((file: string, id: string, flags: Flags & { dryRun?: boolean }) =>
      withReplay(file, flags.json === true, async replay => {
        const preview = await replay.preview(rowNumber(id, 'the campaign', lister), {
          dryRun: flags.dryRun === true,
        })
        print(flags.json === true, { ok: true, ...preview }, () => previewText(preview))
      }),
    )
}

function approveCommand(): Command {
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

function runCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .argument('<file>', 'module whose default export is the consumer')
    .argument('<id>', 'number of the campaign')
    .option('--json', 'progress lines and the result as JSON')
    .action((file: string, id: string, flags: Flags) =>
      withReplay(file, flags.json === true, async (replay, signal) => {
        const campaign = await replay.run(rowNumber(id, 'the campaign', lister), {
          signal,
          onProgress: progress => process.stderr.write(progressLine(progress, flags.json === true)),
        })
        print(flags.json === true, { ok: true, campaign }, () => campaignText(campaign))
      }),
    )
}

function pauseCommand(): Command {
  return new Command('pause')
    .description('ask the process that runs it to stop after what it has under way')
    .argument('<id>', 'number of the campaign')
    .option('--json', 'print one JSON object')
    .action((id: string, flags: Flags) =>
      withPool(flags.json === true, async pool => {
        const campaign = await pauseCampaign(pool, rowNumber(id, 'the campaign', lister))
        print(flags.json === true, { ok: true, campaign }, () => campaignText(campaign))
      }),
    )
}

function cancelCommand(): Command {
  return typed(new Command('cancel').description('end it for good; what was applied stays applied')).action(
    (id: string, flags: Typed) =>
      withPool(flags.json === true, async pool => {
        assertTyped(await readCampaign(pool, rowNumber(id, 'the campaign', lister)), flags.consumer)
        const campaign = await cancelCampaign(pool, id)
        print(flags.json === true, { ok: true, campaign }, () => campaignText(campaign))
      }),
  )
}

function verifyCommand(): Command {
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

function swapCommand(name: 'swap' | 'rollback', description: string): Command {
  return new Command(name)
    .description(description)
    .argument('<file>', 'module whose default export is the consumer')
    .argument('<id>', 'number of the campaign')
    .requiredOption('--consumer <name>', "the consumer's name, typed again")
    .option('--accept-missing', 'swap although live messages are not in the rebuilt tables')
    .option('--json', 'print one JSON object')
    .action((file: string, id: string, flags: Typed & { acceptMissing?: boolean }) =>
      withReplay(file, flags.json === true, async replay => {
        await withPool(flags.json === true, async pool =>
          assertTyped(await readCampaign(pool, rowNumber(id, 'the campaign', lister)), flags.consumer),
        )
        const acceptMissing = flags.acceptMissing === true
        const swap = name === 'swap' ? await replay.swap(id, { acceptMissing }) : await replay.rollBack(id)
        print(flags.json === true, { ok: true, ...swap }, () => JSON.stringify(swap, null, 2))
      }),
    )
}

function finishCommand(): Command {
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

function listCommand(): Command {
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

function showCommand(): Command {
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

function typed(command: Command): Command {
  return command
    .argument('<id>', 'number of the campaign')
    .requiredOption('--consumer <name>', "the consumer's name, typed again")
    .option('--json', 'print one JSON object')
}
