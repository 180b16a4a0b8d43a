import { Command, Option } from 'commander'
import type { CampaignMode } from '../../../contract/handler.ts'
import { campaignModes } from '../../../replay/campaign/campaign.ts'
import { print } from '../../output.ts'
import { rowNumber, wholeNumber } from '../../whole-number.ts'
import { type Flags, lister } from './flags.ts'
import { type SelectionFlags, selectionOf } from './selection-flags.ts'
import { campaignText, previewText } from './text.ts'
import { withReplay } from './with-replay.ts'

type CreateFlags = Flags &
  SelectionFlags & {
    mode: CampaignMode
    because: string
    rate?: string
    rebuildKeys?: boolean
    requestEffects?: boolean
    dryRun?: boolean
  }

export function createCommand(): Command {
  return new Command('create')
    .description('record a campaign; reads nothing and runs nothing')
    .argument('<file>', 'module whose default export is the consumer')
    .addOption(
      new Option('--mode <mode>', 'purpose of the campaign').choices(campaignModes).makeOptionMandatory(),
    )
    .requiredOption('--because <reason>', 'reason, recorded with the campaign')
    .option('--from <edge>', "the log's first record, an ISO time, partition=offset,…; or parked", 'first')
    .option('--to <edge>', 'now, an ISO time, or partition=offset,…', 'now')
    .option('--file <path>', 'JSON lines instead of the log the contract reads')
    .option(
      '--never-live',
      'the live consumer never receives the messages of --file; their effects stay suppressed',
    )
    .option('--archive <path>', 'archive of retention instead of the log: its folder, or one file')
    .option('--held <states>', 'held messages instead of the log: parked,dead,…')
    .option('--key <key...>', 'repair, parked: only messages of these keys')
    .option('--cause <fingerprint>', 'parked: only with this cause, from "onceward parked groups"')
    .option('--rebuild-keys', 'repair: the keys that a projection marked for a rebuild')
    .option('--including-skipped', 'include skipped and deleted messages; always needs approval')
    .option('--rate <count>', 'maximum messages per second')
    .option('--request-effects', 'backfill, repair: request external effects and messages; needs approval')
    .option('--dry-run', 'show what would be created, change nothing')
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

export function previewCommand(): Command {
  return new Command('preview')
    .description(
      'determine and fix the plan; reads the first record of each range, or a whole archive or file',
    )
    .argument('<file>', 'module whose default export is the consumer')
    .argument('<id>', 'campaign id')
    .option('--dry-run', 'show the plan without fixing it')
    .option('--json', 'print one JSON object')
    .action((file: string, id: string, flags: Flags & { dryRun?: boolean }) =>
      withReplay(file, flags.json === true, async replay => {
        const preview = await replay.preview(rowNumber(id, 'campaign id', lister), {
          dryRun: flags.dryRun === true,
        })
        print(flags.json === true, { ok: true, ...preview }, () => previewText(preview))
      }),
    )
}
