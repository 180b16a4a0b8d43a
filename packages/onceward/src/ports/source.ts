import type { Mode } from '../contract/handler.ts'
import type { SourceCapabilities } from './capabilities.ts'
import type { Enrolment } from './store.ts'

/** One handing-over of bytes by a broker. The bytes are exactly what the broker stored. */
export interface Delivery {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  /** Name of the queue, stream or topic it came from; for evidence, never an identity. */
  readonly origin: string
  /** Lasting coordinates on logs (`topic/3@1207`); null on queues, whose tags mean nothing tomorrow. */
  readonly position: string | null
  /** The broker's ordering unit (`case-events/3` on Kafka); '' where there is only one. */
  readonly partition: string
  /** Where it stands in its partition of a log, and under which ownership; null on queues. */
  readonly place: Place | null
  /** The broker's own key: routing key or record key. */
  readonly key: string | null
  readonly redelivered: boolean
  /** Earlier hand-overs the broker knows of; 0 on the first one and where it does not count. */
  readonly deliveryCount: number
  /** The source's private handle (tag, lease, offset with its epoch). Nobody else reads it. */
  readonly token: unknown
  /** Held work that a worker took up again; absent on what a broker handed over. */
  readonly held?: HeldFacts
  /** Read back out of an archive: its identity as it was; absent elsewhere. */
  readonly archived?: KnownIdentity | undefined
}

/** An identity that a marker has, or had. */
export interface KnownIdentity {
  readonly messageId: string
  readonly digest: Buffer
}

/** What is known of held work before its bytes are read again. */
export interface HeldFacts {
  /**
   * Its row, and the claim under which it was taken: raised with each, so that an earlier holder's finish
   * matches nothing.
   */
  readonly row: string
  readonly epoch: number
  /**
   * As its marker has them, whatever the contract reads from the bytes today. Null where no id could be read
   * when it was held: then both are read anew, and the marker is claimed by whoever applies it.
   */
  readonly messageId: string | null
  readonly digest: Buffer
  /** It waited for its turn, which came or did not; null where it waited for nobody. */
  readonly waited: 'released' | 'too late' | null
  /**
   * Its business key is not its own: to be asked for before it is applied. Absent where it is, or has none.
   */
  readonly keyless?: boolean
  /** Its last holder let the lease run out, as one does that died over it. */
  readonly abandoned: boolean
  /** When it was first held, in the store's own words; absent where this process has just stored it. */
  readonly firstAt?: string
  /** Failed attempts on its row; absent where there can be none. */
  readonly attempts?: number
  /** What held it first; absent where this run did. */
  readonly cameFrom?: HeldOrigin
  /** What this process read from the bytes when it stored them; absent where they came out of the store. */
  readonly read?: ReadBefore
}

/** The run that held a message first: whoever takes it up works in its mode. */
export interface HeldOrigin {
  readonly mode: Mode
  /** Null for what no campaign held. */
  readonly campaignId: string | null
  /** Whether that campaign may ask for external effects and messages; null for what no campaign held. */
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
 * A record's place in one partition of a log. Cursors are texts that only their source can read: an offset, a
 * byte in a file, a page token. Nobody compares them: what comes after what is the order of handing over.
 */
export interface Place {
  /**
   * Which life of the log: a topic id, a file's inode. A log that was deleted and made again is another one.
   */
  readonly incarnation: string
  /** The ownership under which it was handed over, as the store counts it. */
  readonly epoch: number
  /** The cursor of this record. */
  readonly at: string
  /** Where to read on once this record and all before it are done. */
  readonly next: string
  /**
   * Campaigns: the end of the record before it, where nothing in between was for us. Absent where that is
   * `at`.
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
   * Logs: the record has no value at all (a deletion in a compacted topic), which is not an empty one. Absent
   * unless true.
   */
  readonly tombstone?: true
}

/** A broker adapter: hands over deliveries, settles them. */
export interface Source {
  /** For people: `rabbitmq queue payments.q`. */
  readonly name: string
  readonly capabilities: SourceCapabilities

  /**
   * Called once by a consumer's start. Connects, checks the topology and begins to take deliveries.
   * Rejects with a `configuration` error when retrying cannot help (bad credentials, wrong queue
   * arguments); otherwise keeps trying by itself until it is closed.
   */
  open(options: OpenOptions): Promise<Subscription>
}

export interface QueueSource extends Source {
  open(options: QueueOpenOptions): Promise<Subscription>
}

/** What opening a queue takes. */
export interface QueueOpenOptions {
  /** Most unsettled deliveries, and most bytes of their bodies, this subscription may hold. */
  readonly inFlightMax: number
  readonly inFlightBytesMax: number
  /** Called on every change worth telling people, in order, never throwing. */
  readonly onEvent: (event: SourceEvent) => void
  /**
   * Called by those whose broker says which cluster it is, on each connection, before anything is taken.
   * Where it rejects nothing is.
   */
  readonly onBroker?: (broker: BrokerIdentity) => Promise<void>
}

/** A cluster by its own word: the id of a Kafka cluster, the name of a RabbitMQ one. */
export interface BrokerIdentity {
  readonly kind: string
  readonly cluster: string
  /** Absent where the broker has none. */
  readonly virtualHost?: string
  /**
   * RabbitMQ: a name of ours in the virtual host, which every node of the cluster knows, whatever it calls
   * itself.
   */
  readonly marks?: BrokerMarks
}

/** Durable names in a virtual host. Valid while the connection is open that it came from. */
export interface BrokerMarks {
  /** Null where this user may not look. */
  has(name: string): Promise<boolean | null>
  /** False where this user may not. */
  put(name: string): Promise<boolean>
  /** The same look in another virtual host of the same node; null where this user may not enter it. */
  hasIn?(virtualHost: string, name: string): Promise<boolean | null>
}

export interface OpenOptions extends QueueOpenOptions {
  /** What a log needs beside; queues leave it alone. */
  readonly log: LogOptions
  /** Whose held work it is; brokers leave it alone. */
  readonly enrolment?: Enrolment
}

export interface LogOptions {
  /** Who reads: the group on the broker is named after it, unless the declaration names one. */
  readonly consumer: { readonly name: string; readonly generation: number }
  /**
   * Which position is the truth. `broker`: told after the effect. `store`: written with the effect, the
   * broker's is a hint. `only`: as `store`, and there is no marker beside it. `first`: told before the effect
   * (at most once): `settle` then resolves when the broker, or the store for logs without one, has confirmed
   * it.
   */
  readonly progress: 'broker' | 'store' | 'only' | 'first'
  /** Who owns which partition, and the positions we know of. */
  readonly checkpoints: Checkpoints
  /**
   * Called when partitions are about to go to another owner. What is not in a transaction yet is forgotten;
   * resolves when the rest is settled. The source bounds the wait.
   */
  readonly onRevoke: (partitions: readonly string[]) => Promise<void>
  /**
   * The messages of a key are applied in order: partitions that were added wait until what stood before them
   * is done.
   */
  readonly ordersKeys?: boolean
  /** Called whenever the broker was told positions, or refused them. Never throws. */
  readonly onPositionCommit?: (succeeded: boolean) => void
}

/** Ownership and positions of a log's partitions in the store; the engine's side of a log source. */
export interface Checkpoints {
  /**
   * Called when partitions become this subscription's, before the first record of them is handed over. Raises
   * their epochs: once it resolves, no transaction of an earlier owner commits anything for them. Waits out a
   * store that is away.
   */
  take(partitions: readonly string[]): Promise<readonly Ownership[]>
  /**
   * Called once a partition's position is decided (first start, accepted loss) and, with `broker`, the broker
   * knows it: from now on a missing position is a loss, not a beginning. Under `first` also for every settled
   * run.
   */
  begin(partition: string, epoch: number, position: Position): Promise<void>
  /**
   * Called when records are gone unread, before `receive` rejects with `records_lost`: the gap is on record,
   * whatever happens next.
   */
  declareLoss(loss: Loss): Promise<void>
  /**
   * Called when the log turns out to have the records of a loss that was declared at `from`, before reading
   * goes on there. Closes that loss as withdrawn, accepted or not, so that its alert ends. Rejects with
   * `ownership_lost` when the epoch is another's.
   */
  withdrawLoss(partition: string, epoch: number, from: Position, reason: string): Promise<void>
}

export interface Position {
  readonly incarnation: string
  readonly next: string
}

export interface Ownership {
  readonly partition: string
  readonly epoch: number
  /** The run that had it before; null when nobody had. */
  readonly lastRun: number | null
  /** The last position the store knows; null when this consumer never began here. */
  readonly stored: Position | null
  /** A person accepted a declared loss: go on from here, then `begin`. */
  readonly resumeAt: Position | null
  /** The newest declared loss that is not closed; absent where there is none. */
  readonly openLoss?: OpenLoss
}

/** A declared loss behind which reading has not gone on yet. */
export interface OpenLoss {
  readonly from: Position
  readonly to: Position | null
  /** When it was declared for the first time, by the store's clock. */
  readonly declaredMs: number
  readonly accepted: boolean
}

/** Records a log no longer has, from the position we stood at to the first one that is still there. */
export interface Loss {
  readonly partition: string
  readonly from: Position
  /** Null when there is nothing left to go on from, as in a deleted topic. */
  readonly to: Position | null
  /** How many at most; null when it cannot be known. */
  readonly records: number | null
  readonly reason: string
}

/**
 * What a transaction writes about one partition: its ownership is checked, and its position moved unless
 * `next` is null.
 */
export interface Progress {
  readonly partition: string
  readonly epoch: number
  readonly incarnation: string
  /** Where the store must stand for the move to be ours; null: anywhere. */
  readonly from: string | null
  readonly next: string | null
}

/** Nothing comes although something waits. */
export interface Stall {
  /** How long it has lasted. */
  readonly forMs: number
  /** What is silent, for people. */
  readonly reason: string
}

export interface PartitionLag {
  readonly partition: string
  /** Records in the log that are not settled yet; null while unknown. */
  readonly behind: number | null
  /**
   * Timestamp of the oldest record handed over and not settled; null when there is none. Absent for queues,
   * whose messages need not have one.
   */
  readonly oldestMs?: number | null
}

export type SourceEvent =
  | { readonly kind: 'connected' }
  | { readonly kind: 'disconnected'; readonly reason: string }
  /** The broker took the subscription away (queue deleted, consumer cancelled). */
  | { readonly kind: 'cancelled'; readonly reason: string }
  /**
   * The broker took deliveries back because they were not acknowledged in time; the source goes on, and they
   * come again.
   */
  | { readonly kind: 'timed_out'; readonly reason: string }
  /** Partitions of a log came or went. */
  | { readonly kind: 'assigned'; readonly partitions: readonly string[]; readonly reason: string }
  | {
      readonly kind: 'revoked'
      readonly partitions: readonly string[]
      readonly reason: string
      /**
       * Given up when asked to, with everything settled or handed back; absent where they were taken or lost.
       */
      readonly orderly?: true
    }
  | { readonly kind: 'warning'; readonly reason: string }
  /**
   * A part of the source failed and is tried again by itself, while the rest goes on; then that it works
   * again. A new connection restores all.
   */
  | { readonly kind: 'degraded'; readonly part: string; readonly reason: string }
  | { readonly kind: 'restored'; readonly part: string }
  /** The source was declared to end, and everything there was is settled: the consumer drains. */
  | { readonly kind: 'ended'; readonly reason: string }

export interface Subscription {
  /**
   * Called by the consumer whenever it has room, one call at a time. Resolves at once with what has
   * already arrived (at most `max`), otherwise with the first arrivals; never waits to fill a batch.
   * Resolves with an empty list only after `close` has begun. While the broker is away it just waits.
   * Rejects only with a `configuration` error or with `records_lost`: the consumer halts and settles nothing.
   */
  receive(max: number): Promise<readonly Delivery[]>

  /**
   * Called once per delivery, after its outcome is durable, in any order. Tells the broker to forget
   * them. A delivery of an earlier connection or an expired lease is skipped, never sent: it comes
   * back and the inbox recognises it. Says how many could not be told to the broker. Never rejects.
   */
  settle(deliveries: readonly Delivery[]): Promise<{ readonly missed: number }>

  /** Called before held work is tried again: false once the broker has taken the delivery back. */
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
