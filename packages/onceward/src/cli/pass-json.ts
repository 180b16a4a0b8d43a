import type { Command } from 'commander'

/**
 * `--json` belongs to a command and to those below it: the upper one reads it wherever it stands, and hands
 * it on.
 */
export function passJson(upper: Command, lower: Command): void {
  if (upper.opts<{ json?: boolean }>().json === true) lower.setOptionValue('json', true)
}
