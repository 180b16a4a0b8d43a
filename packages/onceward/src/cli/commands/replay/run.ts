import { Command } from 'commander'
import { readCampaign } from '../../../replay/campaign/campaign.ts'
import { assertTyped } from '../../../replay/campaign/steer-campaign.ts'
import { differs } from '../../../replay/rebuild/compare-tables.ts'
import { withPool } from '../../database.ts'
import { print, safe } from '../../output.ts'
import { rowNumber, secondsMs } from '../../whole-number.ts'
import { type Flags, lister, type Typed } from './flags.ts'
import { campaignText, comparisonText, progressLine } from './text.ts'
import { withReplay } from './with-replay.ts'

export function runCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .argument('<file>', 'module whose default export is the consumer')
    .argument('<id>', 'campaign id')
    .option(...waitOption)
    .option('--json', 'progress lines and the result as JSON')
    .action((file: string, id: string, flags: Flags & WaitFlag) =>
      withReplay(file, flags.json === true, async (replay, signal) => {
        const campaign = await replay.run(rowNumber(id, 'campaign id', lister), {
          signal,
          waitMaxMs: secondsMs(flags.wait, '--wait', lister),
          onProgress: progress => process.stderr.write(progressLine(progress, flags.json === true)),
        })
        print(flags.json === true, { ok: true, campaign }, () => campaignText(campaign))
      }),
    )
}

interface WaitFlag {
  wait: string
}

const waitOption = [
  '--wait <seconds>',
  'how long to wait for a live consumer that is behind the rebuild',
  '60',
] as const

type SwapFlags = Typed &
  WaitFlag & { acceptMissing?: boolean; acceptUnknown?: boolean; accept?: string[]; because?: string }

export function swapCommand(name: 'swap' | 'rollback', description: string): Command {
  const command = new Command(name)
    .description(description)
    .argument('<file>', 'module whose default export is the consumer')
    .argument('<id>', 'campaign id')
    .requiredOption('--consumer <name>', 'consumer name, as confirmation')
    .option('--json', 'print one JSON object')
  if (name === 'swap')
    command
      .option(...waitOption)
      .option('--accept-missing', 'swap even if live messages are missing in the rebuilt tables')
      .option('--accept-unknown', 'swap even if retention removed the markers of messages without a position')
      .option('--accept <table...>', 'swap even if rows of these tables differ; requires --because')
      .option('--because <reason>', 'reason, recorded in the history and the audit')
  return command.action((file: string, id: string, flags: SwapFlags) =>
    withReplay(file, flags.json === true, async replay => {
      await withPool(flags.json === true, async pool =>
        assertTyped(await readCampaign(pool, rowNumber(id, 'campaign id', lister)), flags.consumer),
      )
      const acceptMissing = flags.acceptMissing === true
      const accept = Object.fromEntries((flags.accept ?? []).map(table => [table, flags.because ?? '']))
      const swap =
        name === 'swap'
          ? await replay.swap(id, {
              acceptMissing,
              acceptUnknown: flags.acceptUnknown === true,
              accept,
              ...(flags.because !== undefined && { because: flags.because }),
              waitMaxMs: secondsMs(flags.wait, '--wait', lister),
            })
          : await replay.rollBack(id)
      print(flags.json === true, { ok: true, ...swap }, () => safe(JSON.stringify(swap, null, 2)))
    }),
  )
}

export function compareCommand(): Command {
  return new Command('compare')
    .description('rebuild: compare the live tables with the rebuilt ones; changes nothing')
    .argument('<file>', 'module whose default export is the consumer')
    .argument('<id>', 'campaign id')
    .option('--json', 'print one JSON object')
    .action((file: string, id: string, flags: Flags) =>
      withReplay(file, flags.json === true, async replay => {
        const tables = await replay.compare(rowNumber(id, 'campaign id', lister))
        print(flags.json === true, { ok: true, tables }, () => comparisonText(tables))
        if (tables.some(one => differs(one) || one.generated.length > 0)) process.exitCode = 1
      }),
    )
}
