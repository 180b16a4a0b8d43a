import { userInfo } from 'node:os'
import { type Command, Option } from 'commander'

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
    .addOption(
      new Option('--by <person>', 'a name noted with it; the audit has the login of the database').default(
        userInfo().username,
        'your login on this machine',
      ),
    )
    .option('--json', 'print one JSON object')
}
