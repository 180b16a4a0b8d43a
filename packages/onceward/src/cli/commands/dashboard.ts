import { Command } from 'commander'
import { dashboard } from '../../telemetry/alerts/dashboard.ts'
import { labelsOf, loadDeclared } from '../load-declared.ts'
import { print } from '../output.ts'

export function dashboardCommand(): Command {
  return new Command('dashboard')
    .description('write a Grafana dashboard for these consumers, to import or provision; starts nothing')
    .argument('<files...>', 'modules whose default exports are consumers')
    .option('--label <name=value...>', 'only series with these labels')
    .option('--json', 'print one JSON object with the dashboard in it')
    .action(async (files: string[], flags: { json?: boolean; label?: string[] }) => {
      const drawn = dashboard(await loadDeclared(files), labelsOf(flags.label))
      print(flags.json === true, { ok: true, dashboard: drawn }, () => JSON.stringify(drawn, null, 2))
    })
}
