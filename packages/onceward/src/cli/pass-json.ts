import type { Command } from 'commander'

/**
 * Both a command and its subcommands have `--json`. The parent parses it in any position and passes it down.
 */
export function passJson(upper: Command, lower: Command): void {
  if (upper.opts<{ json?: boolean }>().json === true) lower.setOptionValue('json', true)
}
