import { Command } from 'commander'
import { createCommand, previewCommand } from './replay/ask.ts'
import { listCommand, showCommand } from './replay/look.ts'
import { compareCommand, runCommand, swapCommand } from './replay/run.ts'
import { approveCommand, cancelCommand, finishCommand, pauseCommand, verifyCommand } from './replay/steer.ts'

/** Campaigns: history read again, on purpose, by people who can say why. */
export function replayCommand(): Command {
  return new Command('replay')
    .description('campaigns: ask for one, see what it covers, approve, run, pause, resume, verify, finish')
    .addCommand(createCommand())
    .addCommand(previewCommand())
    .addCommand(approveCommand())
    .addCommand(runCommand('run', 'run it in this process, to its end or until it is paused'))
    .addCommand(runCommand('resume', 'the same as run: it goes on where it stands'))
    .addCommand(pauseCommand())
    .addCommand(cancelCommand())
    .addCommand(verifyCommand())
    .addCommand(compareCommand())
    .addCommand(
      swapCommand('swap', 'rebuild: put the new tables in the place of the live ones, in one transaction'),
    )
    .addCommand(
      swapCommand('rollback', 'rebuild: put the old tables back, and forget what was applied since'),
    )
    .addCommand(finishCommand())
    .addCommand(listCommand())
    .addCommand(showCommand())
}
