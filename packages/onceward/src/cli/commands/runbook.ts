import { Command } from 'commander'
import { loadConsumer } from '../../runtime/load-consumer.ts'
import { renderRunbook, runbooksFor } from '../../telemetry/alerts/runbook.ts'
import { print, safe } from '../output.ts'

export function runbookCommand(): Command {
  return new Command('runbook')
    .description('show the steps and commands for an alert of this consumer; starts nothing')
    .argument('<file>', 'module whose default export is the consumer')
    .argument('[alert]', 'alert such as OncewardLagRising, or runbook such as lag-rising (default: all)')
    .option('--json', 'print one JSON object')
    .action(async (file: string, alert: string | undefined, flags: { json?: boolean }) => {
      const consumer = (await loadConsumer(file)) as never
      const pages = runbooksFor(consumer, alert).map(runbook => ({
        name: runbook.name,
        markdown: renderRunbook(runbook, { consumer, file }),
      }))
      print(flags.json === true, { ok: true, runbooks: pages }, () =>
        safe(pages.map(({ markdown }) => markdown).join('\n')),
      )
    })
}
