/** Everything a label may be called. Values are bounded: names of contracts, words of this code, partitions up to `partitionsMax`; never ids. */
export type Label =
  | 'consumer'
  | 'mode'
  | 'stage'
  | 'type'
  | 'outcome'
  | 'class'
  | 'reason'
  | 'code'
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

/** A name of the source documents that a metric answers to, and the labels that narrow it down to exactly that. */
export interface SeedName {
  readonly from: '000 §22' | '001 §29' | '003 §19'
  readonly name: string
  readonly where?: Partial<Record<Label, string>>
}

export interface MetricSpec {
  readonly name: string
  readonly kind: 'counter' | 'histogram' | 'gauge'
  /** As OpenTelemetry writes units: `s`, `1` for shares and switches, `{message}` for things counted. */
  readonly unit: string
  readonly labels: readonly Label[]
  /** Labels that have one value. */
  readonly fixed?: Partial<Record<Label, string>>
  readonly description: string
  readonly seeds: readonly SeedName[]
}

export const idempotency = (name: string, where?: SeedName['where']): SeedName => ({
  from: '000 §22',
  name,
  ...(where && { where }),
})
export const delivery = (name: string, where?: SeedName['where']): SeedName => ({
  from: '001 §29',
  name,
  ...(where && { where }),
})
export const state = (name: string, where?: SeedName['where']): SeedName => ({
  from: '003 §19',
  name,
  ...(where && { where }),
})

export const byMessage = ['consumer', 'mode'] as const
