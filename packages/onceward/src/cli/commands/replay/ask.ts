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
    .description('write down what is asked for; nothing is read and nothing runs')
    .argument('<file>', 'module whose default export is the consumer')
    .addOption(new Option('--mode <mode>', 'what it is for').choices(campaignModes).makeOptionMandatory())
    .requiredOption('--because <reason>', 'why; kept with the campaign')
    .option('--from <edge>', "the log's first record, an ISO time, partition=offset,…; or parked", 'first')
    .option('--to <edge>', 'now, an ISO time, or partition=offset,…', 'now')
    .option('--file <path>', 'JSON lines instead of the log the contract reads')
    .option(
      '--never-live',
      'the messages of --file never come to the live consumer; their effects stay suppressed',
    )
    .option(
      '--archive <path>',
      'what retention has archived instead of the log: its folder, or one file of it',
    )
    .option('--held <states>', 'messages this store still holds instead of the log: parked,dead,…')
    .option('--key <key...>', 'repair, parked: only messages of these keys')
    .option('--cause <fingerprint>', 'parked: only what failed like this; see "onceward parked groups"')
    .option('--rebuild-keys', 'repair: the keys a projection has left for a rebuild')
    .option('--including-skipped', 'take up what people skipped or deleted; needs approval whatever the risk')
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

export function previewCommand(): Command {
  return new Command('preview')
    .description(
      'find out what it covers now, and fix that; reads the first record of each range, and an archive or a file through',
    )
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
