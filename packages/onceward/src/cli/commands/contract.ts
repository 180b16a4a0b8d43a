import { Command } from 'commander'
import { OncewardError } from '../../errors.ts'
import { loadConsumer } from '../load-consumer.ts'
import { print } from '../output.ts'

interface ContractFlags {
  json?: boolean
  mermaid?: boolean
}

export function contractCommand(): Command {
  return new Command('contract')
    .description('show what a file declares; starts nothing')
    .argument('<file>', 'module whose default export is a consumer')
    .requiredOption('--mermaid', "the effect's state machine as a Mermaid diagram")
    .option('--json', 'as JSON')
    .action(async (file: string, flags: ContractFlags) => {
      const consumer = await loadConsumer(file)
      const mermaid = consumer.effect?.apply?.mermaid?.()
      if (mermaid === undefined) {
        throw new OncewardError(
          'usage',
          `Consumer ${consumer.name} declares no state machine, so there is nothing to draw. One is declared by effect.apply: transition({ machine, … }).`,
        )
      }
      print(flags.json === true, { ok: true, consumer: consumer.name, mermaid }, () => mermaid)
    })
}
