import type { Consumer } from '../../contract/define-consumer.ts'
import type { MetricKey } from '../catalogue.ts'
import type { HistogramPart, Matchers } from './promql.ts'

/** `critical`: act now. `warning`: act today. `info`: for information. */
export type AlertSeverity = 'critical' | 'warning' | 'info'

/** The consumer that an alert is generated for. */
export interface AlertContext {
  readonly consumer: Consumer
  /** A selector of this consumer's series. */
  series(key: MetricKey, matchers?: Matchers, part?: HistogramPart): string
}

/** One kind of alert, for every consumer it applies to. */
export interface Alert {
  /** The alert name in Prometheus. */
  readonly name: string
  readonly severity: AlertSeverity
  /** The severity for consumers whose risk is not money, regulatory or notification, where it differs. */
  readonly severityElsewhere?: AlertSeverity
  /** The message violates the producer’s agreement; the alert names the producer. */
  readonly toProducer?: true
  /** The alert names the owner of the dead letters. */
  readonly toDeadLetterOwner?: true
  readonly runbook: string
  /** How long the expression must hold. */
  readonly forMs: number
  readonly metrics: readonly MetricKey[]
  /** Consumers that it applies to. Default all. */
  readonly applies?: (consumer: Consumer) => boolean
  readonly expression: (context: AlertContext) => string
  /** Age in seconds of the oldest message it is about; shown as an annotation. */
  readonly oldest?: (context: AlertContext) => string
  /** One line. `{{ $value }}` and `{{ $labels.… }}` are Prometheus's own. */
  readonly summary: string
  /** The threshold in words. */
  readonly threshold: (consumer: Consumer) => string
}

/** The store may hold work of this consumer for a worker. */
export function keepsWork({ inbox, failure }: Consumer): boolean {
  return inbox.mode === 'stored' || failure.mode === 'defer'
}

/** Brokers that the relay publishes to for this consumer: messages, dead letters, retry copies. */
export function brokersOf({ source, effect, failure }: Consumer): readonly string[] {
  const own = source.kind === 'rabbitmq-stream' ? 'rabbitmq' : source.kind
  const copies = failure.deadLetter !== null || failure.retryLevelsMs.length > 0 ? [own] : []
  const published = Object.values(effect?.publish ?? {}).map(target => target.broker)
  return [...new Set([...copies, ...published])].sort()
}

export const minuteMs = 60_000
