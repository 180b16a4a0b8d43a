import type { Command } from 'commander'

export interface ActFlags {
  json?: boolean
  consumer: string
  because: string
}

/** Options of an act on one row. The actor is the login of the database session. */
export function actOptions(command: Command): Command {
  return command
    .requiredOption('--consumer <name>', 'consumer name, as confirmation')
    .requiredOption('--because <reason>', 'reason, recorded in the audit')
    .option('--json', 'print one JSON object')
}
