import type { Command } from 'commander'

/** They ask no database. */
const withoutDatabase = new Set(['init', 'contract', 'alerts', 'dashboard', 'runbook'])

/** What a command needs beside its arguments and mandatory options before it asks its database. */
const more: Readonly<Record<string, readonly string[]>> = {
  run: ['--no-metrics'],
  relay: ['--no-metrics', '--broker', 'postgres'],
  explain: ['--message', 'm'],
  'parked classify': ['--label', 'l'],
}

export interface Leaf {
  readonly name: string
  readonly command: Command
}

/** Every command that does something itself. */
export function leaves(command: Command, path: readonly string[] = []): Leaf[] {
  const own = (command as unknown as { _actionHandler: unknown })._actionHandler !== null
  const below = command.commands.flatMap(one => leaves(one, [...path, one.name()]))
  return own && path.length > 0 ? [{ name: path.join(' '), command }, ...below] : below
}

/** `check` reads the contract alone unless it is asked for more. */
export const asksDatabase = ({ name }: Leaf) => !withoutDatabase.has(name) && name !== 'check'

/** A complete command line, with `file` wherever a contract is expected, and the name of its consumer. */
export const wordsOf = ({ name, command }: Leaf, file: string, consumer = 'guarded') => [
  ...name.split(' '),
  ...command.registeredArguments
    .filter(({ required }) => required)
    .map(argument => argument.argChoices?.[0] ?? (/file/.test(argument.name()) ? file : '1')),
  ...command.options
    .filter(({ mandatory }) => mandatory)
    .flatMap(({ long, argChoices }) => [long!, argChoices?.[0] ?? (long === '--consumer' ? consumer : '1')]),
  ...(more[name] ?? []),
]
