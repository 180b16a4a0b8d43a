import type { Consumer } from '../../contract/define-consumer.ts'
import type { MetricKey } from '../catalogue.ts'
import type { HistogramPart, Matchers } from './promql.ts'

/** `critical`: somebody must act now. `warning`: today. `info`: to be known. */
export type AlertSeverity = 'critical' | 'warning' | 'info'

/** What an alert is written for. */
export interface AlertContext {
  readonly consumer: Consumer
  /** A selector of this consumer's series. */
  series(key: MetricKey, matchers?: Matchers, part?: HistogramPart): string
}

/** One kind of alert, for every consumer it applies to. */
export interface Alert {
  /** As Prometheus knows it. */
  readonly name: string
  readonly severity: AlertSeverity
  /** Of consumers whose risk is not money, regulatory or notification, where it differs. */
  readonly severityElsewhere?: AlertSeverity
  /** The message broke an agreement with its sender, who is named. */
  readonly toProducer?: true
  /** The owner it names is that of the dead letters. */
  readonly toDeadLetterOwner?: true
  readonly runbook: string
  /** How long it must hold. */
  readonly forMs: number
  readonly metrics: readonly MetricKey[]
  /** Consumers it can happen to. Default all. */
  readonly applies?: (consumer: Consumer) => boolean
  readonly expression: (context: AlertContext) => string
  /** How old the oldest of what it is about is, in seconds; shown as an annotation. */
  readonly oldest?: (context: AlertContext) => string
  /** One line. `{{ $value }}` and `{{ $labels.… }}` are Prometheus's own. */
  readonly summary: string
  /** What the number is held against, in words. */
  readonly threshold: (consumer: Consumer) => string
}

/** Work of this consumer may wait in the store for a worker. */
export function keepsWork({ inbox, failure }: Consumer): boolean {
  return inbox.mode === 'stored' || failure.mode === 'defer'
}

/**
 * Brokers the relay carries something to on behalf of this consumer: its messages, its dead letters, its
 * retries.
 */
export function brokersOf({ source, effect, failure }: Consumer): readonly string[] {
  const own = source.kind === 'rabbitmq-stream' ? 'rabbitmq' : source.kind
  const copies = failure.deadLetter !== null || failure.retryLevelsMs.length > 0 ? [own] : []
  const published = Object.values(effect?.publish ?? {}).map(target => target.broker)
  return [...new Set([...copies, ...published])].sort()
}

export const minuteMs = 60_000
