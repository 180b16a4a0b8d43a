import { Command } from 'commander'
import { readCampaign } from '../../../replay/campaign.ts'
import { assertTyped } from '../../../replay/steer-campaign.ts'
import { withPool } from '../../database.ts'
import { print } from '../../output.ts'
import { campaignText, progressLine } from '../../replay-text.ts'
import { rowNumber } from '../../whole-number.ts'
import { withReplay } from '../../with-replay.ts'
import { type Flags, lister, type Typed } from './flags.ts'

export function runCommand(name: string, description: string): Command {
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

export function swapCommand(name: 'swap' | 'rollback', description: string): Command {
  const command = new Command(name)
    .description(description)
    .argument('<file>', 'module whose default export is the consumer')
    .argument('<id>', 'number of the campaign')
    .requiredOption('--consumer <name>', "the consumer's name, typed again")
    .option('--json', 'print one JSON object')
  if (name === 'swap')
    command.option('--accept-missing', 'swap although live messages are not in the rebuilt tables')
  return command.action((file: string, id: string, flags: Typed & { acceptMissing?: boolean }) =>
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
