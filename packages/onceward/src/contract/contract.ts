import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { DeliveryProperties } from '../contracts/source.ts'
import type { Verdict } from '../engine/verdicts.ts'
import type { Codec } from '../message/codec.ts'
import type { Limits } from '../message/limits.ts'
import type { Log } from '../surroundings.ts'
import type { DeclaredEffect } from './declared-effect.ts'
import type { ExternalTarget } from './external-target.ts'
import type { PublishRequest, PublishTarget } from './publish-target.ts'

/**
 * One consumer, whole: what it reads, what makes two messages the same, in which order, to what effect,
 * and what happens when it fails. Plain data plus the functions that read a message and apply it.
 */
export interface ConsumerContract<M = unknown, Tx = SqlTransaction> {
  /** `^[a-z][a-z0-9_]{0,47}$`. With `generation` it names the dedup memory: renaming forgets it. */
  name: string
  /** Default 1. A rebuild writes under a new generation. */
  generation?: number
  /** The team that answers for this consumer and its dead letters. */
  owner: string
  /** The team that sends these messages. Alerts on broken ones (bytes, schema, type, version, conflicting content) name it. Default the owner. */
  producer?: string
  description?: string
  risk: Risk
  source: SourceDeclaration
  /** A Standard Schema, or the schema with codec and limits. Without one the decoded value is taken as it is. */
  message?: StandardSchemaV1<unknown, M> | MessageSection<M>
  identity: IdentitySection<M>
  /** Default `none`. `key` needs `identity.orderKey` and a source that can keep it; `partition` is the order of a log's partition. */
  order?: 'none' | 'key' | 'partition'
  /**
   * What remembers that a message was applied. Default `marker`: a row per message. `checkpoint`, logs only: nothing but the position,
   * written with the effect; it protects against redelivery, not against a producer that sent twice or an operator who rewinds.
   * `version`, projections only: the version in the projection's own row.
   */
  dedup?: Dedup
  /** When the source is told. Default after the effect is committed. */
  settle?: SettleSection
  effect?: EffectSection<M>
  failure?: FailureSection
  batch?: BatchSection
  /** When the work is done. Default in the transaction that takes the delivery. */
  inbox?: InboxSection
  /** Where `onceward run` lets handlers run. Default in its own process. */
  isolation?: IsolationSection
  /** How history may be read again. See `docs/replay.md`. */
  replay?: ReplaySection
  /** How long what is done is remembered. Without it nothing is ever removed. */
  retention?: RetentionSection
  /** What this consumer promises in numbers; alerts are made from them. See `docs/alerts.md`. */
  objectives?: ObjectivesSection
  /** How `onceward audit reconcile` finds this consumer's effects. Declared effects know theirs. */
  reconcile?: ReconcileSection
  /** Recorded with every run, so that a row can be traced to the code that wrote it. Default `unversioned`. */
  handlerVersion?: string
  /** Called once per message; calls of different lanes run concurrently on one transaction. */
  handle?: Handler<M, Tx>
  /** Called once per batch, for set-based effects. Give one of the two, or `effect.apply`. */
  handleBatch?: BatchHandler<M, Tx>
}

export type Dedup = 'marker' | 'checkpoint' | 'version'
export type Risk = 'money' | 'regulatory' | 'notification' | 'projection' | 'telemetry' | 'low value'

/** Made by `queue(...)` of a source's subpath; plain data. */
export interface SourceDeclaration {
  readonly kind: string
}

export interface SettleSection {
  /**
   * Default `after effect`. `with effect`, logs only: the position is written to the store in the effect's transaction, and reading starts
   * from there. `before effect`: at most once; what is in flight when a process dies is lost.
   */
  when?: 'after effect' | 'with effect' | 'before effect'
  /** Why losing messages is acceptable here: needed by `before effect`, which risk categories money and regulatory refuse. */
  lossAcceptable?: string
}

export interface MessageSection<M> {
  schema?: StandardSchemaV1<unknown, M>
  /** Default JSON, strict UTF-8. */
  codec?: Codec
  limits?: Partial<Limits>
  /** Headers that are part of the content and so of the digest. Default none. */
  digestHeaders?: readonly string[]
  /** The values of `identity.type` this consumer knows; others are parked unread. Default any. */
  types?: readonly string[]
  /** The values of `identity.schemaVersion` this consumer can read, listed or as a range of whole numbers; others are parked unread. */
  versions?: readonly (string | number)[] | { readonly min: number; readonly max: number }
}

/** A function of the decoded message, or the name of a header or broker property. */
export type From<M, T = string> =
  | ((message: M, delivery: DeliveryFacts) => T | null | undefined)
  | { readonly header: string }
  | { readonly property: keyof DeliveryProperties }

/** The identities a message may carry; never interchangeable. Positions and tags are none of them. */
export interface IdentitySection<M> {
  /**
   * The message id: same id, same message. Required. `position`, only for logs whose records carry no id of their own: the same event
   * written to the log twice is then two messages.
   */
  id: From<M> | 'position'
  /** One effect per business key, whatever the message id. */
  businessKey?: From<M>
  /** Fields that make the business content; a new id with the same key and other content is a conflict. */
  businessDigest?: (message: M) => unknown
  /** Messages of one order key are applied in order of arrival. Needed by `order: 'key'`. */
  orderKey?: From<M>
  /** The id itself tells when it was made. Then a message older than the markers that are left is noticed on every source. */
  idTime?: 'uuidv7' | 'ulid'
  eventId?: From<M>
  idempotencyKey?: From<M>
  /** The thing the message is about. Unordered handlers start in its order, so that processes lock its rows alike. */
  aggregateId?: From<M>
  aggregateVersion?: From<M, string | number>
  correlationId?: From<M>
  causationId?: From<M>
  type?: From<M>
  producer?: From<M>
  schemaVersion?: From<M, string | number>
}

export interface EffectSection<M = unknown> {
  /** A declared effect in place of a handler, as made by `projection(...)`. Needs a SQL store. */
  apply?: DeclaredEffect<M>
  /** Targets of `effects.external(name, …)`. */
  external?: Record<string, ExternalTarget>
  /** Targets of `effects.publish(name, …)`. */
  publish?: Record<string, PublishTarget>
}

export type FailureClass =
  | 'transient'
  | 'overload'
  | 'rate limited'
  | 'business conflict'
  | 'validation'
  | 'poison'
  | 'configuration'
  | 'corruption'

export interface FailureSection {
  /** Default 5. Attempts of one message, counted durably, before it is parked. Classes with a budget of their own do not count here. */
  attemptsMax?: number
  /** Default 1 s, doubled per attempt up to `delayMaxMs` (default 60 s), full jitter. */
  delayMs?: number
  delayMaxMs?: number
  /** The same as the three above in the words of a retry policy, to be pasted as it is. Give one of the two. */
  retry?: RetrySection
  /**
   * Default `block`: the delivery is held unacked, its lane waits. `defer`: the message is kept in the store until its next try and the
   * broker told; later ones of its key wait behind it, others flow. `retry queue`: it waits
   * in a queue of RabbitMQ and comes back behind later ones; only with order `none`. `retry topic`: the same on Kafka.
   */
  mode?: 'block' | 'defer' | 'retry queue' | 'retry topic'
  /** Error code, class name, SQLSTATE (`40001`, `23xxx`) or HTTP status (`503`, `5xx`) → failure class, before the defaults. */
  classes?: Record<string, FailureClass>
  /** What a class does, where it is not what everybody does. */
  policies?: Partial<Record<FailureClass, ClassPolicy>>
  /** Ends a message early that fails in the same way again and again. Default: only the attempts decide. */
  poison?: PoisonSection
  /** Pauses the source while the downstream is away. `false` switches it off. */
  breaker?: FailureBreaker | false
  /**
   * What happens to a message that does not get through. Default `set aside`: parked with everything needed to come back. `stop`: its lane
   * waits before it for as long as it takes, attempts being counted and reported; other lanes go on.
   */
  exhausted?: 'set aside' | 'stop'
  /** How much may be parked before what comes next waits at the source instead. Nothing is dropped; a log line and a metric say so. */
  parking?: ParkingSection
  /** Queue on the same broker that gets a copy of dead letters and quarantined messages, or what else is said of them. */
  deadLetter?: string | DeadLetterSection
}

export interface RetrySection {
  maxAttempts?: number
  initialDelayMs?: number
  maxDelayMs?: number
  backoff?: 'exponential' | 'exponential-jitter'
  /** Default true: anything from zero to the doubled delay. */
  jitter?: boolean
  /** Codes that are tried again, and codes that are not; others go by their class. */
  retryable?: readonly string[]
  nonRetryable?: readonly string[]
}

export interface ClassPolicy {
  /** A budget of its own. 1: never tried again. */
  attemptsMax?: number
  delayMs?: number
  delayMaxMs?: number
  /** Where a message of this class ends. `halted`: the consumer stops before it and nothing is settled. */
  terminal?: 'parked' | 'dead-lettered' | 'quarantined' | 'halted'
  /** Whether such failures say that the downstream is away. Default: transient, overload and rate limited do. */
  breaker?: boolean
}

export interface PoisonSection {
  /** The same class, code and place this often: parked, whatever attempts are left. */
  maxAttemptsBeforePark?: number
}

export interface FailureBreaker {
  /** Failures without a success between them, of two messages at least. Default 5. */
  failuresMax?: number
  /** Until one message is tried. Default 1 s, doubled after each that fails up to `pauseMaxMs` (default 60 s). */
  pauseMs?: number
  pauseMaxMs?: number
}

export interface DeadLetterSection {
  /** Queue or topic on the same broker that gets a copy. */
  to?: string
  /** Who answers for them. Default the consumer's owner. */
  owner?: string
  /** Nothing is dead-lettered by itself: what would be is parked, for a person to decide. */
  manualReviewRequired?: boolean
  /**
   * Who, on the business side, accepts that later messages of a key or partition go on past a dead letter. Without it an ordered consumer of
   * risk money or regulatory parks instead (order `key`) or is refused (order `partition`).
   */
  passingAcceptedBy?: string
}

export interface ParkingSection {
  /** Default 10,000. Messages behind the parked head of one key; a batch may go past it by its own size. */
  perKeyMax?: number
  /** Default 1,000,000. Parked messages of the consumer in all. */
  totalMax?: number
}

export interface BatchSection {
  /** Default 500. */
  sizeMax?: number
  /** Default 2: decoding overlaps committing. */
  inFlightMax?: number
  /**
   * Unsettled deliveries and bytes held at most. Defaults 2,000 and 64 MiB; of logs 3,000, a third of which is kept for partitions that have
   * little in flight: with 2,000 there was no room to read a full batch ahead of two.
   */
  deliveriesMax?: number
  bytesMax?: number
  /** Default 10 s. A handler past it is aborted and its transaction rolled back. */
  handlerTimeoutMs?: number
}

export interface InboxSection {
  /**
   * Default `transactional`: the broker is the retry queue, and effect and marker commit before it is told. `stored`: the message is
   * stored, the broker told, and workers of any process take it up later, under a lease. For work that is slow or must not wait at the broker.
   */
  mode?: 'transactional' | 'stored'
  /** How long a silent worker keeps what it took. Default 30 s; extended every third of it while the worker lives. */
  leaseMs?: number
  /** Batches one process works on at a time, each in a transaction of its own. Default 2; slow work needs more. */
  workers?: number
}

export interface IsolationSection {
  /**
   * Default `none`. `child`: the consumer runs in a child process that is started again when it dies, and killed when its event loop stands still, as
   * in an endless loop. The message at fault is then found and parked.
   */
  mode?: 'none' | 'child'
  /** How long the child may say nothing. Default `batch.handlerTimeoutMs`, at least 1 s. */
  deadlineMs?: number
  /** The child's heap at most, in MiB. Default null: what Node chooses. */
  memoryMaxMb?: number | null
}

/** Milliseconds, or a text such as '90s', '36h', '30d', '7y' (a year has 365 days). */
export type Duration = number | string

/**
 * How long each kind of memory is kept; what a contract does not say is decided by its risk. A term shorter than the longest time in which
 * a duplicate can reappear is refused at start.
 */
export interface RetentionSection {
  /** Markers: how long a repeated message is recognised. */
  markers?: Duration
  /** Business keys. Default and least: as long as markers. */
  businessKeys?: Duration
  /** Completed external effects, which keep a call from being made again. Default and least: as long as markers. */
  effects?: Duration
  /** What was said of messages that were not simply applied. Default: as long as markers. */
  notes?: Duration
  /** Failed attempts, by the last of a message. Default and least: as long as markers. */
  attempts?: Duration
  /** Dead letters and quarantined messages with their bytes, counted from when they were last seen. Default: never removed. */
  deadLetters?: Duration
  /** What campaigns that are over would have asked for. Default: as long as markers. */
  wouldHave?: Duration
  /** What people did to held messages that are held no more; the audit keeps it for good. Default: as long as markers. */
  heldActions?: Duration
  /** Longest time after which the source may hand a message over again, where it cannot be asked or says that it keeps for ever. */
  sourceKeeps?: Duration
  /** Default `delete`. `archive` writes each row to a file, durably, before it is removed; the process is told the folder. */
  action?: 'delete' | 'archive'
  /**
   * What happens to a message older than the markers that are left. `park`: a person decides; the default where risk is money, regulatory or
   * notification. `apply`: applied and reported.
   */
  behindHorizon?: 'park' | 'apply'
}

/** Every number has a default, most of them by `risk`: see `docs/alerts.md`. */
export interface ObjectivesSection {
  /** How old what is not applied yet may be. Default 1m for money, regulatory and notification, 5m projection, 15m telemetry, 1h low value. */
  lagMax?: Duration
  /** How many records may wait at the broker while their number still grows. Default 10,000. */
  lagRecordsMax?: number
  /** 99 of 100 batches are applied within it. Default half of `batch.handlerTimeoutMs`. */
  applyP99Max?: Duration
  /** Share of deliveries that may be repeats. Default 0.1. */
  duplicateShareMax?: number
  /** Dead letters, parked and quarantined messages in an hour. Default 0 for money, regulatory and notification, else 10. */
  deadLettersPerHourMax?: number
  /** Work taken from silent workers in an hour. Default 5. */
  claimsExpiredPerHourMax?: number
  /** Age of the oldest message in the outbox. Default as `lagMax`. */
  outboxAgeMax?: Duration
  /** Share of `failure.parking.totalMax` from which parking is nearly full. Default 0.8. */
  parkingShareMax?: number
  /** The source is never silent for longer. Default: not silent for an hour in which it was not the day before. */
  idleMax?: Duration
}

/** Queries are one SELECT each, run read-only. See `docs/explain.md`. */
export interface ReconcileSection {
  /**
   * Every row the handler wrote: `message_id` (text), and where there are such columns `at` (timestamptz), by which rows older than the markers that
   * are left are told apart, and `digest` (bytea), compared with the marker's.
   */
  effects: string
  /** Default `all`: every applied message has a row. `some`: it may have none, because later messages overwrite it or the handler needs none. */
  covers?: 'all' | 'some'
  /** Default `any`. `one`: a second row of a message is drift. */
  perMessage?: 'one' | 'any'
  /** `message_id` of rows that are not what was written, by whatever the table keeps to tell. */
  edited?: string
}

/** What a handler may do to the database inside the batch's transaction. */
export interface SqlTransaction {
  query<Row = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number }>
}

/**
 * Why a message is handled. `live`: it is news. `replay`: history; what is applied is skipped, what is missing is applied. `backfill`: history
 * this consumer never saw. `rebuild`: all of it anew, into tables of its own. `repair`: selected keys, and what was ignored or stale among
 * them is looked at again. `forensic`: nothing lasts. In all but `live` external effects and messages are suppressed unless people approved them.
 */
export type Mode = 'live' | CampaignMode
export type CampaignMode = 'replay' | 'backfill' | 'rebuild' | 'repair' | 'forensic'

export interface ReplaySection {
  /** What people may start. Default `replay`, `repair` and `forensic`. */
  modes?: readonly CampaignMode[]
  /** How far back history may be asked for, and so how long it is remembered at least. Default no limit of its own. */
  window?: Duration
  /** Default `with approval`: people may approve that a backfill or a repair calls and publishes. `never`: nobody may. */
  effects?: 'with approval' | 'never'
  /** `rebuild` of a handler: the tables it writes, named without a schema in its statements as well. Declared projections know theirs. */
  tables?: readonly string[]
  /** `rebuild`: what is compared before a swap, by table. Default all columns, told apart by the primary key. */
  compare?: Readonly<Record<string, ComparedTable>>
}

export interface ComparedTable {
  /** Columns that tell rows apart. Default the primary key. */
  key?: readonly string[]
  /** Columns that must be the same. Default all but the key and those the database fills by itself. */
  columns?: readonly string[]
}

export interface HandlerContext<M, Tx> {
  readonly message: M
  readonly envelope: Envelope
  readonly tx: Tx
  readonly effects: Effects
  /** Held work that waited for its turn: whether it came in time. Null for everything else. */
  readonly waited: 'released' | 'too late' | null
  /** The run this is part of: which consumer, which version of its code, in which mode. See `cause`. */
  readonly run: number
  readonly mode: Mode
  /** Aborted when the handler has run too long or the consumer stops at once. */
  readonly signal: AbortSignal
  readonly log: Log
}

export interface BatchContext<M, Tx> {
  readonly batch: readonly BatchItem<M>[]
  readonly tx: Tx
  readonly mode: Mode
  readonly signal: AbortSignal
  readonly log: Log
}

export interface BatchItem<M> {
  readonly message: M
  readonly envelope: Envelope
  readonly effects: Effects
  /** It waited for its turn, which came or did not; null for what waited for nobody. */
  readonly waited: 'released' | 'too late' | null
  /** The run this is part of. See `cause`. */
  readonly run: number
}

export type Handler<M, Tx> = (context: HandlerContext<M, Tx>) => Promise<Verdict | void> | Verdict | void
/** May return verdicts for single items; for those the handler must not have written anything. */
export type BatchHandler<M, Tx> = (
  context: BatchContext<M, Tx>,
) => Promise<ReadonlyMap<BatchItem<M>, Verdict> | void>

export interface Effects {
  /** Records the intent in the batch's transaction; a dispatcher calls later with `key` as idempotency key. */
  external(target: string, request: ExternalRequest): void
  /** Writes a message into the outbox in the batch's transaction; a relay publishes it after the commit, at least once under one id. */
  publish(target: string, request: PublishRequest): void
  /**
   * Calls now, inside the transaction, for fast targets with policy `keyed`. It holds the transaction and its locks for as long as the call
   * takes, nothing is recorded, and a batch that rolls back calls again with the same key. Null in modes that suppress calls.
   */
  call(target: string, request: ExternalRequest): Promise<InlineAnswer | null>
}

/** A complete answer of the target: 2xx. Anything else is thrown and goes through the failure policy. */
export interface InlineAnswer {
  readonly status: number
  readonly body: Uint8Array
}

export interface ExternalRequest {
  /** Stable for the operation: the same intent always has the same key. */
  key: string
  /** Bytes are sent as they are; anything else as JSON. */
  body: unknown
  contentType?: string
}

/** The facts of a delivery that identities may be read from. */
export interface DeliveryFacts {
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  readonly key: string | null
}

/** The identities of one message, kept apart. */
export interface Envelope {
  readonly id: string
  readonly businessKey: string | null
  readonly orderKey: string | null
  readonly eventId: string | null
  readonly idempotencyKey: string | null
  readonly aggregateId: string | null
  readonly aggregateVersion: string | null
  readonly correlationId: string | null
  readonly causationId: string | null
  readonly type: string | null
  readonly producer: string | null
  readonly schemaVersion: string | null
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  readonly origin: string
  readonly position: string | null
  readonly redelivered: boolean
}
