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
      'write Prometheus alert rules with the thresholds, owners and runbooks of the contracts; starts nothing',
    )
    .argument('<files...>', 'modules whose default exports are consumers')
    .option(
      '--label <name=value...>',
      'only series with these labels, for a server that watches several environments',
    )
    .option('--runbook-url <url>', 'page with the runbooks, such as your published copy of docs/runbooks.md')
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
