import type { SourceCapabilities } from './capabilities.ts'
import type { Checkpoints, Progress } from './checkpoints.ts'
import type { Delivery } from './delivery.ts'
import type { Enrolment } from './enrolment.ts'

export type { Checkpoints, Loss, OpenLoss, Ownership, Position, Progress } from './checkpoints.ts'
export type {
  Delivery,
  DeliveryProperties,
  HeldFacts,
  HeldOrigin,
  KnownIdentity,
  Place,
  ReadBefore,
} from './delivery.ts'

/** A broker adapter: delivers messages and acknowledges them. */
export interface Source {
  /** For people: `rabbitmq queue payments.q`. */
  readonly name: string
  readonly capabilities: SourceCapabilities

  /**
   * Called once, when a consumer starts. Connects, checks the topology and begins to receive. Rejects with a
   * `configuration` error when retrying cannot help (bad credentials, wrong queue arguments). Otherwise it
   * keeps trying until it is closed.
   */
  open(options: OpenOptions): Promise<Subscription>
}

export interface QueueSource extends Source {
  open(options: QueueOpenOptions): Promise<Subscription>
}

/** The options of every source. */
export interface QueueOpenOptions {
  /** The most unsettled deliveries, and the most bytes of their bodies, that this subscription may hold. */
  readonly inFlightMax: number
  readonly inFlightBytesMax: number
  /** Called on every change that operators need to see, in order. Never throws. */
  readonly onEvent: (event: SourceEvent) => void
  /**
   * Called on each connection by sources whose broker reports its cluster, before the first delivery. When it
   * rejects, the source takes no delivery.
   */
  readonly onBroker?: (broker: BrokerIdentity) => Promise<void>
}

/** A cluster as it identifies itself: the id of a Kafka cluster, the name of a RabbitMQ cluster. */
export interface BrokerIdentity {
  readonly kind: string
  readonly cluster: string
  /** Absent when the broker has no virtual hosts. */
  readonly virtualHost?: string
  /**
   * RabbitMQ: names that we create in the virtual host. Every node of the cluster knows them, under any node
   * name.
   */
  readonly marks?: BrokerMarks
}

/** Durable names in a virtual host. Valid while the connection they came from is open. */
export interface BrokerMarks {
  /** Null when this user has no right to look. */
  has(name: string): Promise<boolean | null>
  /** False when this user has no right to create it. */
  put(name: string): Promise<boolean>
  /** The same lookup in another virtual host of the same node; null when this user has no access to it. */
  hasIn?(virtualHost: string, name: string): Promise<boolean | null>
}

export interface OpenOptions extends QueueOpenOptions {
  /** Options of logs; queues ignore them. */
  readonly log: LogOptions
  /** The consumer whose held work is read; brokers ignore it. */
  readonly enrolment?: Enrolment
}

export interface LogOptions {
  /** The consumer. The group on the broker is named after it, unless the declaration names one. */
  readonly consumer: { readonly name: string; readonly generation: number }
  /**
   * Which position is authoritative. `broker`: committed to the broker after the effect. `store`: written
   * with the effect; the broker's position is a hint. `only`: as `store`, without markers. `first`: committed
   * before the effect (at most once). `settle` then resolves when the broker has confirmed it, or the store
   * for logs without one.
   */
  readonly progress: 'broker' | 'store' | 'only' | 'first'
  /** Ownership of partitions, and the positions the store knows. */
  readonly checkpoints: Checkpoints
  /**
   * Called when partitions are about to be revoked. Drops the deliveries that are not in a transaction yet,
   * and resolves when the others are settled. The source bounds the wait.
   */
  readonly onRevoke: (partitions: readonly string[]) => Promise<void>
  /** The messages of a key are applied in order: added partitions wait until the older ones are drained. */
  readonly ordersKeys?: boolean
  /** Called when the broker has accepted committed positions, or refused them. Never throws. */
  readonly onPositionCommit?: (succeeded: boolean) => void
}

/** No delivery arrives although messages wait. */
export interface Stall {
  /** How long it has lasted. */
  readonly forMs: number
  /** The silent component, for people. */
  readonly reason: string
}

export interface PartitionLag {
  readonly partition: string
  /** Records in the log that are not settled yet; null while unknown. */
  readonly behind: number | null
  /**
   * Timestamp of the oldest record delivered and not settled, or the time it was first seen; null when there
   * is none. Absent for queues, whose messages the process measures.
   */
  readonly oldestMs?: number | null
}

/** Something that happened to a source, other than a delivery. */
export type SourceEvent =
  | { readonly kind: 'connected' }
  | { readonly kind: 'disconnected'; readonly reason: string }
  /** The broker ended the subscription (queue deleted, consumer cancelled). */
  | { readonly kind: 'cancelled'; readonly reason: string }
  /**
   * The broker took deliveries back because they were not acknowledged in time. The source continues, and
   * they are redelivered.
   */
  | { readonly kind: 'timed_out'; readonly reason: string }
  /** Partitions of a log were assigned or revoked. */
  | { readonly kind: 'assigned'; readonly partitions: readonly string[]; readonly reason: string }
  | {
      readonly kind: 'revoked'
      readonly partitions: readonly string[]
      readonly reason: string
      /**
       * Released on request, with everything settled or returned; absent when the partitions were taken or
       * lost.
       */
      readonly orderly?: true
    }
  | { readonly kind: 'warning'; readonly reason: string }
  /**
   * A part of the source failed and is retried while the rest continues; then, that it works again. A new
   * connection restores all parts.
   */
  | { readonly kind: 'degraded'; readonly part: string; readonly reason: string }
  | { readonly kind: 'restored'; readonly part: string }
  /** The source was declared to end, and every record is settled: the consumer drains. */
  | { readonly kind: 'ended'; readonly reason: string }

/** An open stream of deliveries. */
export interface Subscription {
  /**
   * Called by the consumer whenever it has room, one call at a time. Resolves at once with what has already
   * arrived (at most `max`), otherwise with the first arrivals; never waits to fill a batch. Resolves with an
   * empty list only after `close` has begun. Waits while the broker is unavailable. Rejects only with a
   * `configuration` error or with `records_lost`: the consumer halts and settles nothing.
   */
  receive(max: number): Promise<readonly Delivery[]>

  /**
   * Called once per delivery, after its outcome is durable, in any order. Acknowledges them. A delivery of an
   * earlier connection or an expired lease is skipped, never sent: it is redelivered, and its marker is
   * recognised. Returns how many were not acknowledged. Never rejects.
   */
  settle(deliveries: readonly Delivery[]): Promise<{ readonly missed: number }>

  /** Called before a pending retry runs: false once the broker has taken the delivery back. */
  isLive(delivery: Delivery): boolean

  /**
   * Called once, after the last settle. Returns every unsettled delivery to the broker now rather than after
   * a time-out, and disconnects. Never rejects; resolves within a bounded time.
   */
  close(): Promise<void>

  /** Sources with `capabilities.positions`. */
  readonly log?: SubscribedLog

  /** Held work only. */
  readonly leases?: SubscribedLeases

  /**
   * Called for health and metrics, while the consumer waits for deliveries. Reports since when nothing has
   * arrived although messages are known to wait, or although the broker owes an answer; null otherwise. Must
   * not wait.
   */
  stalled?(): Stall | null

  /**
   * Called for metrics; a queue is one partition. Must not wait: a value still unknown is shown the next
   * time.
   */
  lag?(): readonly PartitionLag[]
}

export interface SubscribedLog {
  /**
   * Pure. Called inside a transaction that decides `done`: what it has to write about each partition of
   * `batch`, as if `done` were settled. The position moves to the lowest unfinished record, so it may lag
   * effects and never leads them. Throws `ownership_lost` (details: `partitions`) for deliveries of a
   * partition that was revoked: its next owner relies on the position.
   */
  progressWith(batch: readonly Delivery[], done: readonly Delivery[]): readonly Progress[]

  /** The store reports another owner of these partitions: delivers nothing more of them, settles nothing. */
  disown(partitions: readonly string[]): void

  /**
   * For metrics. Partitions assigned to this subscription that wait until the older ones are drained. Must
   * not wait.
   */
  waitingPartitions?(): number
}

export interface SubscribedLeases {
  /**
   * Calls `onLost` once, with a `lease_lost` error, when the lease of one of these is lost. The result ends
   * the watch.
   */
  watch(deliveries: readonly Delivery[], onLost: (error: Error) => void): () => void

  /** The store reports that these have another holder, or are finished: their leases are not extended. */
  drop(deliveries: readonly Delivery[]): void
}
