import { Command } from 'commander'
import { OncewardError } from '../../errors.ts'
import type { Consumer } from '../../index.ts'
import { contractPage } from '../../review/page/contract-page.ts'
import { renderPage } from '../../review/page/render-page.ts'
import { loadContract, policyHelp } from '../../runtime/load-consumer.ts'
import { print } from '../output.ts'

interface ContractFlags {
  json?: boolean
  mermaid?: boolean
  policy?: string
}

export function contractCommand(): Command {
  return new Command('contract')
    .description(
      'show the contract of a consumer or transform on one page, with its guarantees; starts nothing',
    )
    .argument('<file>', 'module whose default export is a consumer or a transform')
    .option('--mermaid', 'only the state machine of the effect, as a Mermaid diagram')
    .option('--policy <file>', policyHelp)
    .option('--json', 'as JSON')
    .action(async (file: string, flags: ContractFlags) => {
      const consumer = (await loadContract(file, { policy: flags.policy, looking: true })) as Consumer
      const mermaid = consumer.effect?.apply?.mermaid?.() ?? null
      if (flags.mermaid === true) return printMachine(consumer, mermaid, flags.json === true)
      const page = contractPage(consumer)
      print(flags.json === true, { ok: true, consumer: consumer.name, ...page, mermaid }, () =>
        [renderPage(page), ...(mermaid === null ? [] : [`\`\`\`mermaid\n${mermaid}\n\`\`\``])].join('\n\n'),
      )
    })
}

function printMachine({ name }: Consumer, mermaid: string | null, json: boolean): void {
  if (mermaid === null) {
    throw new OncewardError(
      'usage',
      `Consumer ${name} declares no state machine, so there is no diagram. Declare one with effect.apply: transition({ machine, … }).`,
    )
  }
  print(json, { ok: true, consumer: name, mermaid }, () => mermaid)
}
