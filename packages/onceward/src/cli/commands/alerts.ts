import { Command } from 'commander'
import { OncewardError } from '../../errors.ts'
import { alertRules } from '../../telemetry/alerts/alert-rules.ts'
import { labelsOf, loadDeclared } from '../load-declared.ts'
import { print } from '../output.ts'

interface AlertsFlags {
  json?: boolean
  label?: string[]
  runbookUrl?: string
}

export function alertsCommand(): Command {
  return new Command('alerts')
    .description(
      'write Prometheus rules from contracts: thresholds, owners and runbooks are theirs; starts nothing',
    )
    .argument('<files...>', 'modules whose default exports are consumers')
    .option(
      '--label <name=value...>',
      'only series with these labels, as where one server watches several environments',
    )
    .option('--runbook-url <url>', 'a page with the runbooks, such as docs/runbooks.md where you publish it')
    .option('--json', 'print one JSON object')
    .action(async (files: string[], flags: AlertsFlags) => {
      const where = labelsOf(flags.label)
      const runbookUrl = webAddress(flags.runbookUrl)
      const groups = alertRules(await loadDeclared(files), { where, runbookUrl })
      const { rulesYaml } = await import('../../telemetry/alerts/rules-yaml.ts')
      print(flags.json === true, { ok: true, groups }, () => rulesYaml(groups).trimEnd())
    })
}

function webAddress(url: string | undefined): string | undefined {
  if (url === undefined || /^https?:$/.test(URL.parse(url)?.protocol ?? '')) return url
  throw new OncewardError('usage', '--runbook-url must begin with https:// or http://. Nothing was written.')
}
