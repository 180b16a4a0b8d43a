import { durationText } from '../../contract/duration.ts'
import { type AlertSeverity, minuteMs } from './alert.ts'
import type { AlertRule, RuleGroup, RuleOptions } from './alert-rules.ts'
import { grown, number, onceOf, type Scope, series, window } from './promql.ts'
import { templateText } from './template-text.ts'

/** A relay without a consumer beside it: a producer that only writes its outbox. */
export interface DeclaredRelay {
  /** The team that its alerts page. */
  readonly owner: string
  readonly brokers: readonly string[]
  readonly outboxAgeMaxMs: number
}

interface RelayAlert {
  readonly name: string
  readonly severity: AlertSeverity
  readonly runbook: string
  readonly forMs: number
  readonly expression: (relay: DeclaredRelay, scope: Scope) => string
  readonly summary: string
  readonly threshold: (relay: DeclaredRelay) => string
}

const place = ['broker', 'destination'] as const

/** The alerts of an outbox, without the contract of a consumer. */
export const relayAlerts = [
  {
    name: 'OncewardRelayDown',
    severity: 'critical',
    runbook: 'outbox-growing',
    forMs: 5 * minuteMs,
    expression: ({ brokers }, scope) =>
      brokers.map(broker => `absent(${series(scope, 'outboxOldest', { broker })})`).join(' or '),
    summary: 'No relay for {{ $labels.broker }} reports: messages of the outbox are not published',
    threshold: () => 'no relay scraped for 5m',
  },
  {
    name: 'OncewardRelayOutboxGrowing',
    severity: 'critical',
    runbook: 'outbox-growing',
    forMs: 5 * minuteMs,
    expression: ({ brokers, outboxAgeMaxMs }, scope) => {
      const of = { broker: brokers }
      const oldest = onceOf(series(scope, 'outboxOldest', of), place)
      return `${oldest} > ${number(outboxAgeMaxMs / 1_000)} or ${onceOf(series(scope, 'outboxFailing', of), place)} > 0`
    },
    summary: 'Messages for {{ $labels.destination }} are not published',
    threshold: ({ outboxAgeMaxMs }) =>
      `older than ${durationText(outboxAgeMaxMs)}, or rejected by the broker, for 5m`,
  },
  {
    name: 'OncewardRelayOutboxUnserved',
    severity: 'critical',
    runbook: 'outbox-unserved',
    forMs: 5 * minuteMs,
    expression: ({ brokers }, scope) =>
      `${onceOf(series(scope, 'outboxUnserved', { broker: brokers }), place)} > 0`,
    summary:
      '{{ $value | humanize }} messages for {{ $labels.destination }} wait, and no relay is connected there',
    threshold: () => 'any for 5m',
  },
  {
    name: 'OncewardRelayPublishFailures',
    severity: 'warning',
    runbook: 'outbox-growing',
    forMs: 10 * minuteMs,
    expression: ({ brokers }, scope) =>
      `${grown(series(scope, 'publishFailures', { broker: brokers }), '5m', ['broker', 'code'])} > 0`,
    summary:
      '{{ $value | humanize }} publications to {{ $labels.broker }} failed in 5 minutes ({{ $labels.code }})',
    threshold: () => 'some in every 5m for 10m',
  },
] as const satisfies readonly RelayAlert[]

/** The Prometheus rules of a relay, one group. Pure. */
export function relayRules(relay: DeclaredRelay, options: RuleOptions = {}): RuleGroup {
  const where = options.where ?? []
  const scope: Scope = { consumer: null, where }
  const rules = relayAlerts.map((alert: RelayAlert): AlertRule => {
    const labels = { ...Object.fromEntries(where), owner: relay.owner, severity: alert.severity }
    return {
      alert: alert.name,
      expr: alert.expression(relay, scope),
      for: window(alert.forMs),
      labels: Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, templateText(value)])),
      annotations: {
        summary: `outbox: ${alert.summary}`,
        description: `Fires at: ${templateText(alert.threshold(relay))}.`,
        runbook: `docs/runbooks.md#${alert.runbook}`,
        ...(options.runbookUrl !== undefined && {
          runbook_url: templateText(`${options.runbookUrl}#${alert.runbook}`),
        }),
      },
    }
  })
  return { name: 'onceward.relay', rules }
}
