import type { Command } from 'commander'

export const lister = 'onceward replay list'

export interface Flags {
  json?: boolean
}
export type Typed = Flags & { consumer: string }

export function typed(command: Command): Command {
  return command
    .argument('<id>', 'campaign id')
    .requiredOption('--consumer <name>', 'consumer name, as confirmation')
    .option('--json', 'print one JSON object')
}
