import { Command } from 'commander'
import { classifyCommand } from './parked/classify.ts'
import {
  approvalsCommand,
  approveCommand,
  declineCommand,
  deleteCommand,
  eraseCommand,
} from './parked/delete.ts'
import { filtersCommand } from './parked/filters.ts'
import { fixCommand } from './parked/fix.ts'
import { keyCommand } from './parked/key.ts'
import { closedCommand, groupsCommand, listCommand, showCommand } from './parked/list.ts'
import { quarantineCommand } from './parked/quarantine.ts'
import { redriveCommand, resultCommand, stopCommand } from './parked/redrive.ts'
import { redrivesCommand } from './parked/redrives.ts'
import { skipCommand } from './parked/skip.ts'

/** The parking lot: messages that need attention, and the acts on them. */
export function parkedCommand(): Command {
  const command = new Command('parked').description(
    'messages that need attention: list, group, classify, fix, redrive, skip, delete with approval',
  )
  for (const verb of [
    listCommand(),
    groupsCommand(),
    showCommand(),
    keyCommand(),
    classifyCommand(),
    fixCommand(),
    redriveCommand(),
    redrivesCommand(),
    resultCommand(),
    stopCommand(),
    skipCommand(),
    quarantineCommand(),
    closedCommand(),
    deleteCommand(),
    approvalsCommand(),
    approveCommand(),
    declineCommand(),
    eraseCommand(),
    filtersCommand(),
  ])
    command.addCommand(verb)
  return command
}
