import { Command } from 'commander'
import { createCommand, previewCommand } from './replay/ask.ts'
import { listCommand, showCommand } from './replay/look.ts'
import { compareCommand, runCommand, swapCommand } from './replay/run.ts'
import { approveCommand, cancelCommand, finishCommand, pauseCommand, verifyCommand } from './replay/steer.ts'

/** Campaigns: an operator reads history again, with a recorded reason. */
export function replayCommand(): Command {
  return new Command('replay')
    .description('campaigns: create, preview, approve, run, pause, resume, verify, finish')
    .addCommand(createCommand())
    .addCommand(previewCommand())
    .addCommand(approveCommand())
    .addCommand(runCommand('run', 'run a campaign in this process until it ends or is paused'))
    .addCommand(runCommand('resume', 'continue a paused campaign; the same as run'))
    .addCommand(pauseCommand())
    .addCommand(cancelCommand())
    .addCommand(verifyCommand())
    .addCommand(compareCommand())
    .addCommand(
      swapCommand('swap', 'rebuild: replace the live tables with the rebuilt ones, in one transaction'),
    )
    .addCommand(
      swapCommand(
        'rollback',
        'rebuild: restore the old tables and discard everything applied since the swap',
      ),
    )
    .addCommand(finishCommand())
    .addCommand(listCommand())
    .addCommand(showCommand())
}
