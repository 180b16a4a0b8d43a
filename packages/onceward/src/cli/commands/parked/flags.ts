import { type Command, Option } from 'commander'
import type { ParkedFilter, ParkedState } from '../../../drivers/postgres/parking/read-parked.ts'
import { OncewardError } from '../../../errors.ts'
import { parkedStates } from '../../../operations/parking/list-parked.ts'
import { rowNumber, wholeNumber } from '../../whole-number.ts'

export const lister = 'onceward parked list'

export interface FilterFlags {
  json?: boolean
  consumer?: string
  state?: ParkedState[]
  cause?: string
  key?: string
  message?: string
  label?: string
  assignee?: string
  after?: string
  limit: string
}

/** Options that say which rows; numbers given as arguments are those rows and no others. */
export function selecting(command: Command, limit: string): Command {
  return command
    .addOption(new Option('--state <state...>', 'only in these states').choices([...parkedStates]))
    .option('--cause <cause>', 'only of this cause, from "onceward parked groups"')
    .option('--key <key>', 'only of this order key')
    .option('--message <id>', 'only this message id')
    .option('--label <label>', 'only with this label')
    .option('--assignee <person>', 'only of this person')
    .option('--limit <count>', 'how many at most', limit)
    .option('--json', 'print one JSON object')
}

/** Options of every act on a selection. */
export function acting(command: Command, limit: string): Command {
  return selecting(command, limit)
    .requiredOption('--consumer <name>', "the consumer's name, typed again")
    .requiredOption('--because <reason>', 'why; it is recorded')
    .option('--expect <digest>', 'the digest of the preview; needed unless numbers are given')
    .option('--dry-run', 'show exactly what would be taken, and its digest; change nothing')
}

export function filterOf(flags: FilterFlags, ids: readonly string[] = []): ParkedFilter {
  for (const id of ids) rowNumber(id, 'the number', lister)
  return {
    consumer: flags.consumer,
    ids: ids.length > 0 ? ids : undefined,
    states: flags.state,
    cause: flags.cause,
    key: flags.key,
    messageId: flags.message,
    label: flags.label,
    assignee: flags.assignee,
    after: flags.after === undefined ? undefined : rowNumber(flags.after, '--after', lister),
    countMax: pageOf(flags.limit),
  }
}

const countLimit = 100_000

function pageOf(limit: string): number {
  const count = wholeNumber(limit, '--limit', lister)
  if (count <= countLimit) return count
  throw new OncewardError('usage', `--limit is at most ${countLimit}. Nothing was changed.`)
}
