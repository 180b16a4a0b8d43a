import { alerts } from '../../packages/onceward/src/telemetry/alerts/alerts.ts'
import { renderRunbook } from '../../packages/onceward/src/telemetry/alerts/runbook.ts'
import { runbooks } from '../../packages/onceward/src/telemetry/alerts/runbooks.ts'
import { catalogue, prometheusName } from '../../packages/onceward/src/telemetry/catalogue.ts'
import { everything } from '../../packages/onceward/test/alerts/declared.ts'
import { alertOrigins } from './alert-origins.ts'
import { table } from './markdown.ts'

/** `docs/runbooks.md`: the introduction stays, and the runbooks are the output of the command. */
export function withRunbooks(page: string): string {
  const [head] = page.split(/^## /m)
  return `${head}${runbooks.map(runbook => renderRunbook(runbook, everything)).join('\n')}`
}

/** Every alert with its runbook and metrics, for `docs/alerts.md`. */
export function alertsTable(): string {
  const rows = alerts.map(alert => [
    `\`${alert.name}\``,
    [...new Set((alertOrigins[alert.name] ?? []).map(origin => origin.split(':')[0]!))].join(', '),
    `[${alert.runbook}](runbooks.md#${alert.runbook})`,
    alert.metrics.map(key => `\`${prometheusName(catalogue[key])}\``).join(', '),
  ])
  return table(['alert', 'asked for by', 'runbook', 'metrics'], rows)
}
