import { userInfo } from 'node:os'
import type { Command } from 'commander'

export interface SaidFlags {
  json?: boolean
  consumer: string
  because: string
  by: string
}

/** What a person says with an act on one row. Who it was is the login of the database session; `--by` is noted beside it. */
export function said(command: Command): Command {
  return command
    .requiredOption('--consumer <name>', "the consumer's name, typed again")
    .requiredOption('--because <reason>', 'why; it is recorded')
    .option(
      '--by <person>',
      'a name noted with it; the audit has the login of the database',
      userInfo().username,
    )
    .option('--json', 'print one JSON object')
}
