import { Command } from 'commander'
import { classifyCommand, fixCommand, skipCommand } from './parked/decide.ts'
import { approvalsCommand, approveCommand, deleteCommand, eraseCommand } from './parked/delete.ts'
import { gapsCommand, groupsCommand, listCommand, showCommand } from './parked/look.ts'
import { replayCommand, resultCommand, stopCommand } from './parked/replay.ts'

/** The parking lot: messages that wait for people, and what people may do. */
export function parkedCommand(): Command {
  const command = new Command('parked').description(
    'messages that wait for people: look, group, classify, fix, replay, skip, delete with a second person',
  )
  for (const verb of [
    listCommand(),
    groupsCommand(),
    showCommand(),
    classifyCommand(),
    fixCommand(),
    replayCommand(),
    resultCommand(),
    stopCommand(),
    skipCommand(),
    gapsCommand(),
    deleteCommand(),
    approvalsCommand(),
    approveCommand(),
    eraseCommand(),
  ])
    command.addCommand(verb)
  return command
}
