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
  class?: string
  code?: string
  businessKey?: string
  type?: string
  since?: string
  until?: string
  text?: string[]
  after?: string
  limit: string
}

/** Options that select rows. Ids given as arguments select exactly those rows. */
export function selecting(command: Command, limit: string): Command {
  return command
    .addOption(new Option('--state <state...>', 'only in these states').choices([...parkedStates]))
    .option('--cause <cause>', 'only with this cause, from "onceward parked groups"')
    .option('--class <class>', 'only of this failure class')
    .option('--code <code>', 'only with this failure code')
    .option('--type <type>', 'only of this message type')
    .option('--since <time>', 'only held at this time or later (ISO 8601)')
    .option('--until <time>', 'only held before this time (ISO 8601)')
    .option('--text <text>', 'only with this text in the payload; several: with all of them', gathered)
    .option('--key <key>', 'only with this order key')
    .option('--business-key <key>', 'only with this business key')
    .option('--message <id>', 'only with this message id')
    .option('--label <label>', 'only with this label')
    .option('--assignee <person>', 'only with this assignee')
    .option('--limit <count>', 'maximum number of rows', limit)
    .option('--json', 'print one JSON object')
}

/** An option that may be given several times. */
export const gathered = (text: string, before: readonly string[] = []) => [...before, text]

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
    failureClass: flags.class,
    code: flags.code,
    businessKey: flags.businessKey,
    type: flags.type,
    since: timeOf(flags.since, '--since'),
    until: timeOf(flags.until, '--until'),
    payloadHasAll: flags.text,
    after: flags.after === undefined ? undefined : rowNumber(flags.after, '--after', lister),
    countMax: pageOf(flags.limit),
  }
}

function timeOf(text: string | undefined, option: string): Date | undefined {
  if (text === undefined) return undefined
  const time = new Date(text)
  if (!Number.isNaN(time.getTime())) return time
  throw new OncewardError(
    'usage',
    `${option} takes a time such as 2026-03-01T10:00:00Z. Nothing was changed.`,
  )
}

const countLimit = 100_000

function pageOf(limit: string): number {
  const count = wholeNumber(limit, '--limit', lister)
  if (count <= countLimit) return count
  throw new OncewardError('usage', `--limit is at most ${countLimit}. Nothing was changed.`)
}
