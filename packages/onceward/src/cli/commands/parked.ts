import { Command } from 'commander'
import { classifyCommand, fixCommand, skipCommand } from './parked/decide.ts'
import { approvalsCommand, approveCommand, deleteCommand, eraseCommand } from './parked/delete.ts'
import { closedCommand, groupsCommand, listCommand, showCommand } from './parked/look.ts'
import { redriveCommand, resultCommand, stopCommand } from './parked/redrive.ts'

/** The parking lot: messages that need attention, and the acts on them. */
export function parkedCommand(): Command {
  const command = new Command('parked').description(
    'messages that need attention: list, group, classify, fix, redrive, skip, delete with approval',
  )
  for (const verb of [
    listCommand(),
    groupsCommand(),
    showCommand(),
    classifyCommand(),
    fixCommand(),
    redriveCommand(),
    resultCommand(),
    stopCommand(),
    skipCommand(),
    closedCommand(),
    deleteCommand(),
    approvalsCommand(),
    approveCommand(),
    eraseCommand(),
  ])
    command.addCommand(verb)
  return command
}
