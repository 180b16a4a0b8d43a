import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { errorCode, OncewardError } from '../../../errors.ts'
import { classifyParked } from '../../../operations/parking/classify-parked.ts'
import { withPool } from '../../database.ts'
import { print } from '../../output.ts'
import { rowNumber } from '../../whole-number.ts'
import { lister } from './flags.ts'

export function classifyCommand(): Command {
  return new Command('classify')
    .description('set label, assignee and note of messages')
    .argument('[ids...]', 'ids from "onceward parked list"')
    .option(
      '--ids-from <file>',
      'file with an id on each line, from "parked list --ids"; - for standard input',
    )
    .requiredOption('--consumer <name>', 'consumer name, as confirmation')
    .option('--label <label>', 'label')
    .option('--assignee <person>', 'person who works on them')
    .option('--note <text>', 'note')
    .option('--json', 'print one JSON object')
    .action(
      (
        given: string[],
        flags: {
          json?: boolean
          consumer: string
          idsFrom?: string
          label?: string
          assignee?: string
          note?: string
        },
      ) =>
        withPool(flags.json === true, async pool => {
          const ids = [...given, ...(flags.idsFrom === undefined ? [] : idsOf(flags.idsFrom))]
          for (const id of ids) rowNumber(id, 'id', lister)
          if (ids.length === 0)
            throw new OncewardError('usage', 'Pass ids, or --ids-from. Nothing was changed.')
          const { rows } = await classifyParked(pool, { ...flags, ids })
          print(flags.json === true, { ok: true, rows }, () => `${rows} classified.`)
        }),
    )
}

function idsOf(file: string): readonly string[] {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
      .split(/\s+/)
      .filter(id => id !== '')
  } catch (cause) {
    throw new OncewardError('usage', `${file} cannot be read: ${errorCode(cause)}. Nothing was changed.`, {
      cause,
    })
  }
}
