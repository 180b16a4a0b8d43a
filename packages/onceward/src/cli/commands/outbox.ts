import { Command } from 'commander'
import type { StuckMessage } from '../../drivers/postgres/outbox/read-stuck.ts'
import { dropStuck, listStuck } from '../../operations/stuck-outbox.ts'
import { withPool } from '../database.ts'
import { counted, oneLine, print } from '../output.ts'
import { passJson } from '../pass-json.ts'
import { table } from '../table.ts'
import { rowNumber } from '../whole-number.ts'

interface Flags {
  json?: boolean
}

export function outboxCommand(): Command {
  return new Command('outbox')
    .description('messages that a broker refuses, with the error and the number of messages behind each')
    .option('--json', 'print one JSON object')
    .hook('preSubcommand', passJson)
    .action((flags: Flags) =>
      withPool(flags.json === true, async pool => {
        const stuck = await listStuck(pool)
        print(flags.json === true, { ok: true, stuck }, () => stuckTable(stuck))
      }),
    )
    .addCommand(dropCommand())
}

function dropCommand(): Command {
  return new Command('drop')
    .description('drop a message that its broker refuses; the messages behind it are published')
    .argument('<row>', 'row id, from "onceward outbox"')
    .requiredOption('--message <id>', 'message id, as confirmation')
    .requiredOption('--because <reason>', 'reason, recorded in the audit')
    .option('--json', 'print one JSON object')
    .action(async (typed: string, flags: Flags & { message: string; because: string }) => {
      const row = rowNumber(typed, 'row id', 'onceward outbox')
      await withPool(flags.json === true, async pool => {
        const { kind, queue, behind } = await dropStuck(pool, row, flags.message, flags.because)
        const freed =
          behind === 0 ? '' : ` ${counted(behind, 'message')} behind it will be published within a minute.`
        print(
          flags.json === true,
          { ok: true, kind, queue, behind },
          () => `Row ${row}, a ${kind} for ${oneLine(queue)}, was dropped.${freed}`,
        )
      })
    })
}

function stuckTable(stuck: readonly StuckMessage[]): string {
  if (stuck.length === 0) return 'No messages were refused by their broker.'
  return table(
    ['row', 'kind', 'destination', 'queue', 'message', 'key', 'body, bytes', 'behind', 'tries', 'error'],
    stuck.map(one => [
      one.id,
      one.kind,
      one.destination,
      one.exchange === null ? one.queue : `${one.exchange} ${one.queue}`,
      one.messageId,
      one.key ?? '',
      one.bodyBytes,
      one.behind,
      one.failures,
      one.error ?? '',
    ]),
  )
}
