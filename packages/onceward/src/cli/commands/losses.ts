import { Command } from 'commander'
import type { DeclaredLoss } from '../../drivers/postgres/losses/read-losses.ts'
import { acceptLoss, readLosses } from '../../operations/losses.ts'
import { type ActFlags, actOptions } from '../act-flags.ts'
import { withPool } from '../database.ts'
import { print } from '../output.ts'
import { table } from '../table.ts'
import { wholeNumber } from '../whole-number.ts'

interface Flags {
  json?: boolean
}

export function lossesCommand(): Command {
  const list = new Command('losses')
    .description(
      'records that a log no longer had when a consumer read it; the consumer halts until each loss is accepted',
    )
    .option('--json', 'print one JSON object')
    .action((flags: Flags) =>
      withPool(flags.json === true, async pool => {
        const losses = await readLosses(pool)
        print(flags.json === true, { ok: true, losses }, () => lossTable(losses))
      }),
    )
  return list.addCommand(acceptCommand())
}

function acceptCommand(): Command {
  const command = new Command('accept')
    .description('accept a loss: at the next start the consumer continues after it')
    .argument('<id>', 'loss id, from "onceward losses"')
    .requiredOption('--expect <digest>', 'digest of the loss, from "onceward losses"')
  return actOptions(command).action(async (typed: string, flags: ActFlags & { expect: string }) => {
    const id = wholeNumber(typed, 'loss id', 'onceward losses')
    await withPool(flags.json === true, async pool => {
      const loss = await acceptLoss(pool, { ...flags, id, seen: flags.expect })
      print(
        flags.json === true,
        { ok: true, loss },
        () =>
          `Loss ${id} accepted. Start ${loss.consumer} again: it continues in ${loss.partition} from ${loss.to}.`,
      )
    })
  })
}

function lossTable(losses: readonly DeclaredLoss[]): string {
  if (losses.length === 0) return 'No losses were declared.'
  return table(
    ['id', 'consumer', 'partition', 'from', 'to', 'records', 'state', 'reason', 'digest'],
    losses.map(l => [
      l.id,
      l.consumer,
      l.partition,
      l.from,
      l.to ?? '',
      l.records ?? 'unknown',
      l.state,
      l.withdrawnBecause === null ? l.reason : `${l.reason}; withdrawn: ${l.withdrawnBecause}`,
      l.digest,
    ]),
  )
}
