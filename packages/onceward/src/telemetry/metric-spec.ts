/**
 * The labels of metrics. Their values are bounded: names from contracts, words of this code, partitions up to
 * `partitionsMax`; never ids.
 */
export type Label =
  | 'consumer'
  | 'mode'
  | 'stage'
  | 'type'
  | 'outcome'
  | 'class'
  | 'reason'
  | 'code'
  | 'cause'
  | 'version'
  | 'kind'
  | 'state'
  | 'status'
  | 'cap'
  | 'partition'
  | 'target'
  | 'result'
  | 'broker'
  | 'destination'
  | 'waits.for'
  | 'owner'
  | 'risk'
  | 'messaging.system'
  | 'messaging.destination.name'
  | 'messaging.operation.name'

export interface MetricSpec {
  /** As OpenTelemetry has it: `onceward.…` without a unit, or a name of the messaging conventions. */
  readonly name: string
  readonly kind: 'counter' | 'histogram' | 'gauge'
  /**
   * As OpenTelemetry writes units: `s`, `1` for ratios, `{message}` for things counted, whose plural ends the
   * name. Empty for switches (0 or 1) and for `info`.
   */
  readonly unit: 's' | '1' | '' | `{${string}}`
  readonly labels: readonly Label[]
  /** Labels with one constant value. */
  readonly fixed?: Partial<Record<Label, string>>
  readonly description: string
}

export const byMessage = ['consumer', 'mode'] as const
/** With the queue, stream or topic, and the type of the message. */
export const bySource = [...byMessage, 'messaging.destination.name', 'type'] as const
