import type { Command } from 'commander'

export const lister = 'onceward replay list'

export interface Flags {
  json?: boolean
}
export type Typed = Flags & { consumer: string }

export function typed(command: Command): Command {
  return command
    .argument('<id>', 'number of the campaign')
    .requiredOption('--consumer <name>', "the consumer's name, typed again")
    .option('--json', 'print one JSON object')
}
