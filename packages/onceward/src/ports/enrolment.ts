import type { Dedup } from '../contract/contract.ts'
import type { TopicLimits } from './topic-limits.ts'

export interface ConsumerFacts {
  readonly name: string
  readonly generation: number
  readonly owner: string
  readonly risk: string
  readonly mode: string
  readonly handlerVersion: string
  readonly instance: string
  /**
   * Where duplicates are recognised. `checkpoint` is refused when positions were kept beside markers: such a
   * position may lag effects that no marker would recognise.
   */
  readonly dedup: Dedup
  /**
   * The longest a handler may hold its transaction. The store lets the server end a transaction that is idle
   * or running longer.
   */
  readonly handlerTimeoutMs: number
  /** How many deliveries it may hold at a time. That many are suspects when its process crashes. */
  readonly deliveriesMax: number
  /** It keeps receipts. Absent: none. */
  readonly keepsReceipts?: boolean
  /** The contract's dead-letter queue on the broker; null when they stay in the store only. */
  readonly deadLetterTo: DeadLetterTo | null
  /** What it reads. Absent when no other consumer could read the same. */
  readonly reading?: Reading
  /** Where its messages go. When absent, or when a kind is missing: the only destination of that kind. */
  readonly destinations?: Destinations
  /** The addresses behind them, without credentials, for runs that cannot reach the broker at start. */
  readonly addresses?: Destinations
  /**
   * The size limits of the Kafka topics it writes to. Absent when this process is not connected to their
   * cluster.
   */
  readonly topicLimits?: TopicLimits
}

export interface DeadLetterTo {
  readonly broker: string
  readonly queue: string
  /** The team responsible for dead letters. */
  readonly owner: string
}

/** By kind of broker, the cluster and virtual host that receive messages of that kind. */
export type Destinations = Readonly<Record<string, string>>

/** A queue, or a log as one group reads it. A consumer that reads it under another name has other markers. */
export interface Reading {
  readonly kind: string
  readonly place: string
  /** The virtual host; '' where the broker has none. */
  readonly virtualHost: string
  /** The group, on logs; '' on queues. */
  readonly reader: string
  /** Where the position is kept. Queues delete messages instead. */
  readonly keeper: 'broker' | 'store' | 'queue'
}

export interface Enrolment {
  readonly consumerId: number
  readonly runId: number
  readonly facts: ConsumerFacts
  /**
   * SQL stores: markers were in several tables when the run began. Decides how they are searched, never what
   * is found.
   */
  readonly markersSpread?: boolean
  /** SQL stores: other generations had consumed under this name when the run began. */
  readonly hasOthers?: boolean
  /** The campaign of this run; absent elsewhere. Rows that the run holds carry it. */
  readonly campaignId?: string
}
