import { Command, Option } from 'commander'
import { durationMs } from '../../contract/duration.ts'
import { OncewardError } from '../../errors.ts'
import { alertRules } from '../../telemetry/alerts/alert-rules.ts'
import { type DeclaredRelay, relayRules } from '../../telemetry/alerts/relay-rules.ts'
import { labelsOf, loadDeclared } from '../load-declared.ts'
import { print } from '../output.ts'

interface AlertsFlags {
  relay?: boolean
  owner?: string
  broker: string[]
  outboxAge: string
  json?: boolean
  label?: string[]
  runbookUrl?: string
}

export function alertsCommand(): Command {
  return new Command('alerts')
    .description(
      'write Prometheus alert rules with the thresholds, owners and runbooks of the contracts; starts nothing',
    )
    .argument('[files...]', 'modules whose default exports are consumers')
    .option('--relay', 'rules for an outbox and its relay, also of a producer without consumers')
    .option('--owner <team>', 'with --relay: the team to page')
    .addOption(
      new Option('--broker <broker...>', 'with --relay: brokers that the relay publishes to')
        .choices(relayedBrokers)
        .default(['rabbitmq']),
    )
    .option('--outbox-age <duration>', 'with --relay: greatest age of a message in the outbox', '1m')
    .option(
      '--label <name=value...>',
      'only series with these labels, for a server that watches several environments',
    )
    .option('--runbook-url <url>', 'page with the runbooks, such as your published copy of docs/runbooks.md')
    .option('--json', 'print one JSON object')
    .action(async (files: string[], flags: AlertsFlags) => {
      const where = labelsOf(flags.label)
      const runbookUrl = webAddress(flags.runbookUrl)
      const relay = relayOf(files, flags)
      const groups = [
        ...alertRules(await loadDeclared(files), { where, runbookUrl }),
        ...(relay === null ? [] : [relayRules(relay, { where, runbookUrl })]),
      ]
      const { rulesYaml } = await import('../../telemetry/alerts/rules-yaml.ts')
      print(flags.json === true, { ok: true, groups }, () => rulesYaml(groups).trimEnd())
    })
}

const relayedBrokers = ['kafka', 'rabbitmq', 'postgres', 'cdc']

function relayOf(files: readonly string[], flags: AlertsFlags): DeclaredRelay | null {
  if (flags.relay !== true) {
    if (files.length > 0) return null
    throw new OncewardError('usage', 'Name the modules of consumers, or pass --relay. Nothing was written.')
  }
  const owner = flags.owner?.trim() ?? ''
  if (owner === '')
    throw new OncewardError('usage', '--relay needs --owner, the team to page. Nothing was written.')
  const outboxAgeMaxMs = durationMs(flags.outboxAge)
  if (outboxAgeMaxMs === null || outboxAgeMaxMs < 1_000)
    throw new OncewardError(
      'usage',
      "--outbox-age must be a duration of at least 1 s, such as '90s' or '5m'. Nothing was written.",
    )
  return { owner, brokers: flags.broker, outboxAgeMaxMs }
}

function webAddress(url: string | undefined): string | undefined {
  if (url === undefined || /^https?:$/.test(URL.parse(url)?.protocol ?? '')) return url
  throw new OncewardError('usage', '--runbook-url must begin with https:// or http://. Nothing was written.')
}
