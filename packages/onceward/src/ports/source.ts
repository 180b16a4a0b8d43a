import type { Mode } from '../contract/handler.ts'
import type { SourceCapabilities } from './capabilities.ts'
import type { Enrolment } from './enrolment.ts'

/** One delivery of a message by a broker. The bytes are exactly those the broker stored. */
export interface Delivery {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  /** Name of the queue, stream or topic it came from; for evidence, never an identity. */
  readonly origin: string
  /** Lasting coordinates on logs (`topic/3@1207`); null on queues, whose tags end with the channel. */
  readonly position: string | null
  /** The broker's ordering unit (`case-events/3` on Kafka); '' where there is only one. */
  readonly partition: string
  /** Its place in a partition of a log, and the ownership it was delivered under; null on queues. */
  readonly place: Place | null
  /** The broker's own key: routing key or record key. */
  readonly key: string | null
  readonly redelivered: boolean
  /** Earlier deliveries the broker knows of; 0 on the first one, and where the broker does not count. */
  readonly deliveryCount: number
  /** The source's private handle (tag, lease, offset with its epoch). No other component reads it. */
  readonly token: unknown
  /** Present when a worker delivers held work; absent when a broker delivers the message. */
  readonly held?: HeldFacts
  /** The identity that an archived message had; absent elsewhere. */
  readonly archived?: KnownIdentity | undefined
  /**
   * Logs: when a record without a timestamp was first seen. The process sets it when it measures ages; null
   * until then. Absent on queues.
   */
  firstSeenMs?: number | null
}

/** An identity that a marker has or had. */
export interface KnownIdentity {
  readonly messageId: string
  readonly digest: Buffer
}

/** What the store knows of held work before its bytes are read again. */
export interface HeldFacts {
  /**
   * Its row, and the epoch of the lease. Each lease raises the epoch, so an earlier holder's finish matches
   * nothing.
   */
  readonly row: string
  readonly epoch: number
  /**
   * As its marker has them, whether or not the contract reads the same from the bytes today. Null when no id
   * could be read at the time: then the worker that applies it reads both and inserts the marker.
   */
  readonly messageId: string | null
  readonly digest: Buffer
  /** It waited for its version, which arrived or did not; null when it did not wait for one. */
  readonly waited: 'released' | 'too late' | null
  /**
   * Another message holds its business key: the worker asks for the key first. Absent when it holds the key
   * or has none.
   */
  readonly keyless?: boolean
  /** Its last holder let the lease expire, as a process does that crashed while handling it. */
  readonly abandoned: boolean
  /** When it was first held, as text of the store; absent when this process has just stored it. */
  readonly firstAt?: string
  /** Failed attempts recorded on its row; absent when there can be none. */
  readonly attempts?: number
  /** The run that held it first; absent when this run did. */
  readonly cameFrom?: HeldOrigin
  /**
   * The parts this process read from the bytes when it stored them; absent when they came out of the store.
   */
  readonly read?: ReadBefore
}

/** The run that held a message first. A worker applies the message in the mode of that run. */
export interface HeldOrigin {
  readonly mode: Mode
  /** Null when no campaign held it. */
  readonly campaignId: string | null
  /** Whether that campaign may request external effects and messages; null when no campaign held it. */
  readonly effects: 'suppressed' | 'requested' | null
}

export interface ReadBefore {
  readonly message: unknown
  readonly lane: string | null
  readonly businessKey: string | null
  readonly orderKey: string | null
  readonly businessDigest: Buffer | null
}

/**
 * A record's place in one partition of a log. Cursors are texts that only their source interprets: an offset,
 * a byte in a file, a page token. No other component compares them; the order of records is the order of
 * delivery.
 */
export interface Place {
  /**
   * The incarnation of the log: a topic id, a file's inode. A log that was deleted and created again has
   * another one.
   */
  readonly incarnation: string
  /** The epoch of the ownership it was delivered under, as the store counts it. */
  readonly epoch: number
  /** The cursor of this record. */
  readonly at: string
  /** The position from which to read once this record and all before it are done. */
  readonly next: string
  /**
   * Campaigns: the end of the previous record, when the records in between were not selected. Absent when
   * that is `at`.
   */
  readonly since?: string
}

/** Facts a broker carries beside the headers, under one set of names. */
export interface DeliveryProperties {
  readonly messageId?: string
  readonly correlationId?: string
  readonly type?: string
  readonly contentType?: string
  readonly contentEncoding?: string
  readonly appId?: string
  readonly timestampMs?: number
  /**
   * Logs: the record has no value at all (a deletion in a compacted topic), which differs from an empty
   * value. Absent unless true.
   */
  readonly tombstone?: true
}

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

/** Ownership and positions of a log's partitions in the store: the engine's side of a log source. */
export interface Checkpoints {
  /**
   * Called when partitions are assigned to this subscription, before their first record is delivered. Raises
   * their epochs: once it resolves, no transaction of an earlier owner commits anything for them. Waits while
   * the store is unavailable.
   */
  take(partitions: readonly string[]): Promise<readonly Ownership[]>
  /**
   * Called once a partition's position is decided (first start, accepted loss) and, with `broker`, committed
   * to the broker. From then on a missing position is a loss, not a beginning. With `first`, also called for
   * every settled run of records.
   */
  begin(partition: string, epoch: number, position: Position): Promise<void>
  /**
   * Called when records are gone unread, before `receive` rejects with `records_lost`: the loss is recorded
   * first.
   */
  declareLoss(loss: Loss): Promise<void>
  /**
   * Called when the log has the records of a loss declared at `from` after all, before reading continues
   * there. Closes that loss as withdrawn, accepted or not, so that its alert ends. Rejects with
   * `ownership_lost` when another run has taken the partition.
   */
  withdrawLoss(partition: string, epoch: number, from: Position, reason: string): Promise<void>
}

/** A position of a log, as tests read it. */
export interface Position {
  readonly incarnation: string
  readonly next: string
}

export interface Ownership {
  readonly partition: string
  readonly epoch: number
  /** The run that owned it before; null when none did. */
  readonly lastRun: number | null
  /** The last stored position; null when this consumer never began here. */
  readonly stored: Position | null
  /** An operator accepted a declared loss: continue from here, then call `begin`. */
  readonly resumeAt: Position | null
  /** The newest declared loss that is not closed; absent when there is none. */
  readonly openLoss?: OpenLoss
}

/** A declared loss after which reading has not continued yet. */
export interface OpenLoss {
  readonly from: Position
  readonly to: Position | null
  /** When it was first declared, by the store's clock. */
  readonly declaredMs: number
  readonly accepted: boolean
  /** As it was declared last. */
  readonly reason: string
}

/** Records a log no longer has, from the stored position to the first record that still exists. */
export interface Loss {
  readonly partition: string
  readonly from: Position
  /** Null when no record is left to continue from, as in a deleted topic. */
  readonly to: Position | null
  /** The largest possible number of records; null when it cannot be known. */
  readonly records: number | null
  readonly reason: string
}

/**
 * What a transaction writes about one partition. It checks the ownership, and moves the position unless
 * `next` is null.
 */
export interface Progress {
  readonly partition: string
  readonly epoch: number
  readonly incarnation: string
  /** The position the store must have for the move to be valid; null: any. */
  readonly from: string | null
  readonly next: string | null
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
