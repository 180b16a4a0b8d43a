import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Codec } from '../message/codec.ts'
import type { Limits } from '../message/limits.ts'
import type { DeliveryProperties } from '../ports/source.ts'
import type { DeclaredEffect } from './declared-effect.ts'
import type { ExternalTarget } from './external-target.ts'
import type { FailureSection } from './failure-section.ts'
import type { BatchHandler, DeliveryFacts, Handler, SqlTransaction } from './handler.ts'
import type { PublishTarget } from './publish-target.ts'
import type {
  ObjectivesSection,
  ReconcileSection,
  ReplaySection,
  RetentionSection,
} from './upkeep-sections.ts'

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
  /**
   * The team that sends these messages. Alerts on broken ones (bytes, schema, type, version, conflicting
   * content) name it. Default the owner.
   */
  producer?: string
  description?: string
  risk: Risk
  source: SourceDeclaration
  /**
   * A Standard Schema, or the schema with codec and limits. Without one the decoded value is taken as it is.
   */
  message?: StandardSchemaV1<unknown, M> | MessageSection<M>
  identity: IdentitySection<M>
  /**
   * Default `none`. `key` needs `identity.orderKey` and a source that can keep it; `partition` is the order
   * of a log's partition.
   */
  order?: 'none' | 'key' | 'partition'
  /**
   * What remembers that a message was applied. Default `marker`: a row per message. `checkpoint`, logs only:
   * nothing but the position, written with the effect; it protects against redelivery, not against a producer
   * that sent twice or an operator who rewinds. `version`, projections only: the version in the projection's
   * own row.
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
  /**
   * Recorded with every run, so that a row can be traced to the code that wrote it. Default `unversioned`.
   */
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
   * Default `after effect`. `with effect`, logs only: the position is written to the store in the effect's
   * transaction, and reading starts from there. `before effect`: at most once; what is in flight when a
   * process dies is lost.
   */
  when?: 'after effect' | 'with effect' | 'before effect'
  /**
   * Why losing messages is acceptable here: needed by `before effect`, which risk categories money and
   * regulatory refuse.
   */
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
  /**
   * Records without a body, as in a compacted topic. `handle`: handlers and identity functions get `null` in
   * place of the message, so its type must allow for it; codec, types and versions are not asked.
   * `quarantine`: each is set aside by name. Default `handle` where the schema takes null as null, or a
   * projection deletes by tombstones; else `quarantine`.
   */
  tombstones?: 'quarantine' | (null extends M ? 'handle' : never)
  /**
   * The values of `identity.schemaVersion` this consumer can read, listed or as a range of whole numbers;
   * others are parked unread.
   */
  versions?: readonly (string | number)[] | { readonly min: number; readonly max: number }
}

/** A function of the decoded message, or the name of a header or broker property. */
export type From<M, T = string | number | bigint> =
  | ((message: M, delivery: DeliveryFacts) => T | null | undefined)
  | { readonly header: string }
  | { readonly property: keyof DeliveryProperties }

/**
 * The identities a message may carry; never interchangeable. Positions and tags are none of them. A whole
 * number is the identity of its decimal text.
 */
export interface IdentitySection<M> {
  /**
   * The message id: same id, same message. Required. `position`, only for logs whose records carry no id of
   * their own: the same event written to the log twice is then two messages.
   */
  id: From<M> | 'position'
  /** One effect per business key, whatever the message id. */
  businessKey?: From<M>
  /** Fields that make the business content; a new id with the same key and other content is a conflict. */
  businessDigest?: (message: M) => unknown
  /** Messages of one order key are applied in order of arrival. Needed by `order: 'key'`. */
  orderKey?: From<M>
  /**
   * The id itself tells when it was made. Then a message older than the markers that are left is noticed on
   * every source.
   */
  idTime?: 'uuidv7' | 'ulid'
  eventId?: From<M>
  idempotencyKey?: From<M>
  /**
   * The thing the message is about. Unordered handlers start in its order, so that processes lock its rows
   * alike.
   */
  aggregateId?: From<M>
  aggregateVersion?: From<M>
  correlationId?: From<M>
  causationId?: From<M>
  type?: From<M>
  producer?: From<M>
  schemaVersion?: From<M>
}

export interface EffectSection<M = unknown> {
  /** A declared effect in place of a handler, as made by `projection(...)`. Needs a SQL store. */
  apply?: DeclaredEffect<M>
  /** Targets of `effects.external(name, …)`. */
  external?: Record<string, ExternalTarget>
  /** Targets of `effects.publish(name, …)`. */
  publish?: Record<string, PublishTarget>
}

export interface BatchSection {
  /** Default 500. */
  sizeMax?: number
  /** Default 2: decoding overlaps committing. */
  inFlightMax?: number
  /**
   * Unsettled deliveries and bytes held at most. Defaults 2,000 and 64 MiB; of logs 3,000, a third of which
   * is kept for partitions that have little in flight: with 2,000 there was no room to read a full batch
   * ahead of two.
   */
  deliveriesMax?: number
  bytesMax?: number
  /** Default 10 s. A handler past it is aborted and its transaction rolled back. */
  handlerTimeoutMs?: number
}

export interface InboxSection {
  /**
   * Default `transactional`: the broker is the retry queue, and effect and marker commit before it is told.
   * `stored`: the message is stored, the broker told, and workers of any process take it up later, under a
   * lease. For work that is slow or must not wait at the broker.
   */
  mode?: 'transactional' | 'stored'
  /**
   * How long a silent worker keeps what it took. Default 30 s; extended every third of it while the worker
   * lives.
   */
  leaseMs?: number
  /**
   * Batches one process works on at a time, each in a transaction of its own. Default 2; slow work needs
   * more.
   */
  workers?: number
}

export interface IsolationSection {
  /**
   * Default `none`. `child`: the consumer runs in a child process that is started again when it dies, and
   * killed when its event loop stands still, as in an endless loop. The message at fault is then found and
   * parked.
   */
  mode?: 'none' | 'child'
  /** How long the child may say nothing. Default `batch.handlerTimeoutMs`, at least 1 s. */
  deadlineMs?: number
  /** The child's heap at most, in MiB. Default null: what Node chooses. */
  memoryMaxMb?: number | null
}
