import type { Command } from 'commander'
import { createProgram } from '../../src/cli/program.ts'

/** What the real program says of the words behind `onceward`: null when it would have run. Nothing runs. */
export async function refusalOf(words: readonly string[]): Promise<string | null> {
  return refusalBy(await createProgram(), words)
}

export async function refusalBy(program: Command, words: readonly string[]): Promise<string | null> {
  for (const command of everyCommand(program))
    if (command !== program || command.commands.length === 0) command.action(() => {})
  try {
    await program.parseAsync([...words], { from: 'user' })
    return null
  } catch (error) {
    return (error as Error).message
  }
}

export function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)]
}
