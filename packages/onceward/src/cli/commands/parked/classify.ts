import { Command } from 'commander'
import { classifyParked } from '../../../operations/parking/classify-parked.ts'
import { withPool } from '../../database.ts'
import { print } from '../../output.ts'
import { rowNumber } from '../../whole-number.ts'
import { lister } from './flags.ts'

export function classifyCommand(): Command {
  return new Command('classify')
    .description('set label, assignee and note of messages')
    .argument('<ids...>', 'ids from "onceward parked list"')
    .requiredOption('--consumer <name>', 'consumer name, as confirmation')
    .option('--label <label>', 'label')
    .option('--assignee <person>', 'person who works on them')
    .option('--note <text>', 'note')
    .option('--json', 'print one JSON object')
    .action(
      (
        ids: string[],
        flags: { json?: boolean; consumer: string; label?: string; assignee?: string; note?: string },
      ) =>
        withPool(flags.json === true, async pool => {
          for (const id of ids) rowNumber(id, 'id', lister)
          const { rows } = await classifyParked(pool, { ...flags, ids })
          print(flags.json === true, { ok: true, rows }, () => `${rows} classified.`)
        }),
    )
}
