import type { Consumer } from '../../contract/define-consumer.ts'
import { OncewardError } from '../../errors.ts'
import type { MetricKey } from '../catalogue.ts'
import type { Alert } from './alert.ts'
import { alerts } from './alerts.ts'
import { severityOf } from './find-alert.ts'
import { objectiveRules } from './objective-rules.ts'
import { type HistogramPart, type Matchers, type Scope, series, window } from './promql.ts'
import { goString, plainText, shellWord, templateText } from './template-text.ts'

/** A consumer and the file it was read from; commands in runbooks name the file. */
export interface Declared {
  readonly consumer: Consumer
  readonly file: string
}

export interface RuleOptions {
  /** Labels that every series must have; the alerts carry them too. */
  readonly where?: Scope['where']
  /** The address of a page with all runbooks; every alert links to its section. */
  readonly runbookUrl?: string | undefined
}

export interface RuleGroup {
  readonly name: string
  readonly rules: readonly PrometheusRule[]
}

export type PrometheusRule = AlertRule | RecordedRule
export interface AlertRule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}
export interface RecordedRule {
  readonly record: string
  readonly expr: string
  readonly labels: Readonly<Record<string, string>>
}

/** The Prometheus rules for these consumers, one group for each. Pure. */
export function alertRules(declared: readonly Declared[], options: RuleOptions = {}): RuleGroup[] {
  assertDistinct(declared)
  const where = options.where ?? []
  for (const [label] of where) assertLabel(label)
  return declared.map(one => ({
    name: `onceward.${plainText(one.consumer.name)}`,
    rules: [
      ...objectiveRules(one.consumer, Object.fromEntries(where)),
      ...alertsOf(one.consumer).map(alert => alertRule(alert, one, { ...options, where })),
    ],
  }))
}

/** A consumer's alert rules, with the state of each. */
export function alertsOf(consumer: Consumer): readonly Alert[] {
  return alerts.filter(({ applies }) => applies?.(consumer) ?? true)
}

function alertRule(
  alert: Alert,
  { consumer, file }: Declared,
  { where, runbookUrl }: RuleOptions & { readonly where: Scope['where'] },
): AlertRule {
  const scope: Scope = { consumer: consumer.name, where }
  const context = {
    consumer,
    series: (key: MetricKey, matchers?: Matchers, part?: HistogramPart) => series(scope, key, matchers, part),
  }
  const owner = alert.toDeadLetterOwner ? consumer.failure.deadLetterOwner : consumer.owner
  const labels = {
    ...Object.fromEntries(where),
    consumer: consumer.name,
    owner,
    ...(alert.toProducer && { producer: consumer.producer ?? consumer.owner }),
    risk: consumer.risk,
    severity: severityOf(alert, consumer.risk),
  }
  return {
    alert: alert.name,
    expr: alert.expression(context),
    ...(alert.forMs > 0 && { for: window(alert.forMs) }),
    labels: Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, templateText(value)])),
    annotations: {
      summary: `${templateText(consumer.name)}: ${alert.summary}`,
      description: `Fires at: ${templateText(alert.threshold(consumer))}.`,
      ...(alert.oldest !== undefined && { oldest: askedFor(alert.oldest(context)) }),
      runbook: templateText(`onceward runbook ${shellWord(file)} ${alert.name}`),
      ...(runbookUrl !== undefined && { runbook_url: templateText(`${runbookUrl}#${alert.runbook}`) }),
    },
  }
}

/** A template that Prometheus fills with the result of a query, as a duration. */
function askedFor(expression: string): string {
  return `{{ range query ${goString(expression)} }}{{ .Value | humanizeDuration }}{{ end }}`
}

/** Two contracts of the same name would each fire for the other’s series. */
function assertDistinct(declared: readonly Declared[]): void {
  const files = new Map<string, string>()
  for (const { consumer, file } of declared) {
    const other = files.get(consumer.name)
    if (other !== undefined)
      throw new OncewardError(
        'usage',
        `${other} and ${file} both declare consumer "${consumer.name}". Metrics cannot distinguish them; pass only one of the two files. Nothing was written.`,
      )
    files.set(consumer.name, file)
  }
}

function assertLabel(label: string): void {
  if (/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(label) && !label.startsWith('__') && label !== 'consumer') return
  throw new OncewardError(
    'usage',
    `"${label}" is not a valid label: pass the name of a Prometheus label other than consumer. Nothing was written.`,
  )
}
