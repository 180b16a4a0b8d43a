import { Command } from 'commander'
import { OncewardError } from '../../errors.ts'
import { dashboard, relayDashboard } from '../../telemetry/alerts/dashboard.ts'
import { labelsOf, loadDeclared } from '../load-declared.ts'
import { print } from '../output.ts'

export function dashboardCommand(): Command {
  return new Command('dashboard')
    .description('write a Grafana dashboard for these consumers, to import or provision; starts nothing')
    .argument('[files...]', 'modules whose default exports are consumers')
    .option('--relay', 'for a producer without consumers: a dashboard of its outbox and relay')
    .option('--label <name=value...>', 'only series with these labels')
    .option('--json', 'print one JSON object with the dashboard in it')
    .action(async (files: string[], flags: { json?: boolean; label?: string[]; relay?: boolean }) => {
      const where = labelsOf(flags.label)
      const drawn = flags.relay === true ? ofRelay(files, where) : dashboard(await loadDeclared(files), where)
      print(flags.json === true, { ok: true, dashboard: drawn }, () => JSON.stringify(drawn, null, 2))
    })
}

/** The dashboard of consumers shows their outbox too. */
function ofRelay(files: readonly string[], where: ReturnType<typeof labelsOf>) {
  if (files.length > 0)
    throw new OncewardError(
      'usage',
      'A dashboard is either of consumers, with their outbox, or of a relay: pass files or --relay. Nothing was written.',
    )
  return relayDashboard(where)
}
