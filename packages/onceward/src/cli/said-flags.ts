import type { Command } from 'commander'

export interface SaidFlags {
  json?: boolean
  consumer: string
  because: string
}

/** What a person says with an act on one row. Who it was is the login of the database session. */
export function said(command: Command): Command {
  return command
    .requiredOption('--consumer <name>', "the consumer's name, typed again")
    .requiredOption('--because <reason>', 'why; it is recorded')
    .option('--json', 'print one JSON object')
}
