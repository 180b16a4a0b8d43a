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

/** Options that select rows. Ids given as arguments select exactly those rows. */
export function selecting(command: Command, limit: string): Command {
  return command
    .addOption(new Option('--state <state...>', 'only in these states').choices([...parkedStates]))
    .option('--cause <cause>', 'only with this cause, from "onceward parked groups"')
    .option('--key <key>', 'only with this order key')
    .option('--message <id>', 'only with this message id')
    .option('--label <label>', 'only with this label')
    .option('--assignee <person>', 'only with this assignee')
    .option('--limit <count>', 'maximum number of rows', limit)
    .option('--json', 'print one JSON object')
}

/** Options of every act on a selection. */
export function acting(command: Command, limit: string): Command {
  return selecting(command, limit)
    .requiredOption('--consumer <name>', 'consumer name, as confirmation')
    .requiredOption('--because <reason>', 'reason, recorded in the audit')
    .option('--expect <digest>', 'digest of the preview; required unless ids are given')
    .option('--dry-run', 'show the exact selection and its digest, change nothing')
}

export function filterOf(flags: FilterFlags, ids: readonly string[] = []): ParkedFilter {
  for (const id of ids) rowNumber(id, 'id', lister)
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
