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
  EvidenceSection,
  ObjectivesSection,
  ReconcileSection,
  ReplaySection,
  RetentionSection,
} from './upkeep-sections.ts'

/**
 * Everything a consumer declares: its source, how it identifies and orders messages, its effect, and its
 * failure policy. A contract is plain data plus the functions that read and apply a message.
 */
export interface ConsumerContract<
  M = unknown,
  Tx = SqlTransaction,
  External extends string = string,
  Publish extends string = string,
> {
  /**
   * `^[a-z][a-z0-9_]{0,47}$`. Name and generation identify the consumer's markers. A renamed consumer starts
   * without markers; `docs/operations.md` describes how to keep them.
   */
  name: string
  /** Default 1. A rebuild writes under a new generation. */
  generation?: number
  /** The team responsible for this consumer and its dead letters. */
  owner: string
  /**
   * The team that sends these messages. Alerts about broken messages (bytes, schema, type, version,
   * conflicting content) name it. Default: the owner.
   */
  producer?: string
  /** One sentence on the consumer's purpose; shown on the contract page. */
  description?: string
  /** The cost of a wrong or lost effect. Defaults for retention and objectives depend on it. */
  risk: Risk
  /** The queue, stream, topic or file to read; made by a driver's function such as `queue('payments.q')`. */
  source: SourceDeclaration
  /**
   * A Standard Schema, or an object with schema, codec and limits. Without a schema, handlers receive the
   * decoded value unvalidated.
   */
  message?: StandardSchemaV1<unknown, M> | MessageSection<M>
  /** Where each identity of a message is read. */
  identity: IdentitySection<M>
  /**
   * Default `none`. `key` applies messages of one order key in order of arrival; it needs
   * `identity.orderKey` and a source that preserves order. `partition` applies each partition of a log in
   * order.
   */
  order?: 'none' | 'key' | 'partition'
  /**
   * How the consumer recognises applied messages. Default `marker`: one row per message. `checkpoint`, logs
   * only: the position alone, written in the effect's transaction. It protects against redelivery, but not
   * against a producer that sends twice or an operator who rewinds. `version`, projections only: the version
   * in the projection's own row.
   */
  dedup?: Dedup
  /** When deliveries are acknowledged. Default: after the effect has committed. */
  settle?: SettleSection
  /** A declared effect, and the targets of external calls and published messages. */
  effect?: EffectSection<M, External, Publish>
  /** How often and how long a failed message is retried, and where it ends. See `docs/failure.md`. */
  failure?: FailureSection
  /** How much the consumer processes at a time. */
  batch?: BatchSection
  /** When messages are applied. Default: in the transaction that receives the delivery. */
  inbox?: InboxSection
  /** In which process `onceward run` runs handlers. Default: its own. */
  isolation?: IsolationSection
  /** Which campaigns may read history again. See `docs/replay.md`. */
  replay?: ReplaySection
  /** What is kept about each message that simply succeeded. See `docs/explain.md`. */
  evidence?: EvidenceSection
  /** How long markers and other records are kept. Without it, nothing is ever removed. */
  retention?: RetentionSection
  /** The consumer's service levels; alerts are generated from them. See `docs/alerts.md`. */
  objectives?: ObjectivesSection
  /**
   * How `onceward audit reconcile` finds the rows this consumer wrote. Declared effects need no such query.
   */
  reconcile?: ReconcileSection
  /**
   * Recorded with every run, so that a row can be traced to the code that wrote it. Default `unversioned`.
   */
  handlerVersion?: string
  /** Called once per message. Calls for different lanes run concurrently on one transaction. */
  handle?: Handler<M, Tx, External, Publish>
  /**
   * Called once per batch, for set-based effects. A contract has `handle`, `handleBatch` or `effect.apply`.
   */
  handleBatch?: BatchHandler<M, Tx, External, Publish>
}

export type Dedup = 'marker' | 'checkpoint' | 'version'

/** The cost of a wrong or lost effect. Defaults for retention and objectives depend on it. */
export type Risk = 'money' | 'regulatory' | 'notification' | 'projection' | 'telemetry' | 'low value'

/** Made by a driver's function, such as `queue(...)`; plain data. */
export interface SourceDeclaration {
  readonly kind: string
}

export interface SettleSection {
  /**
   * Default `after effect`. `with effect`, logs only: the position is stored in the effect's transaction, and
   * reading resumes from it. `before effect`: at most once; a crash loses the messages in flight.
   */
  when?: 'after effect' | 'with effect' | 'before effect'
  /**
   * The reason why losing messages is acceptable. Required by `before effect`. Consumers of risk money and
   * regulatory cannot use it.
   */
  lossAcceptable?: string
}

export interface MessageSection<M> {
  schema?: StandardSchemaV1<unknown, M>
  /** Default: JSON in strict UTF-8. */
  codec?: Codec
  limits?: Partial<Limits>
  /** Headers that belong to the content, and therefore to the digest. Default none. */
  digestHeaders?: readonly string[]
  /**
   * Members of JSON payloads whose values the console hides from people with the right `masked`, such as
   * `customer.iban` or `lines.*.price`. Without this list it hides every value from them.
   */
  maskedMembers?: readonly string[]
  /**
   * The values of `identity.type` this consumer handles. Messages of another type are parked undecoded.
   * Default: any type.
   */
  types?: readonly string[]
  /**
   * Records without a body, as in a compacted topic. `handle`: handlers and identity functions receive `null`
   * as the message, so its type must allow `null`; codec, types and versions are skipped. `quarantine`: each
   * such record is quarantined. Default `handle` where the schema accepts null unchanged or a projection
   * deletes by tombstones, else `quarantine`.
   */
  tombstones?: 'quarantine' | (null extends M ? 'handle' : never)
  /**
   * The values of `identity.schemaVersion` this consumer can read: a list, or a range of whole numbers.
   * Messages of another version are parked undecoded.
   */
  versions?: readonly (string | number)[] | { readonly min: number; readonly max: number }
}

/** A function of the decoded message, or the name of a header or broker property. */
export type From<M, T = string | number | bigint> =
  | ((message: M, delivery: DeliveryFacts) => T | null | undefined)
  | { readonly header: string }
  | { readonly property: keyof DeliveryProperties }

/**
 * The identities of a message. They are not interchangeable. Positions and delivery tags are not identities.
 * A whole number and its decimal text are the same identity.
 */
export interface IdentitySection<M> {
  /**
   * The message id: two deliveries with the same id are the same message. Required. `position` is for logs
   * whose records carry no id; an event written to the log twice then counts as two messages. `content` is
   * for queues whose messages carry no id: messages with the same bytes and listed headers are one message,
   * even if the producer meant two.
   */
  id: From<M> | 'position' | 'content'
  /** At most one effect per business key, even under different message ids. */
  businessKey?: From<M>
  /**
   * The fields that make up the business content. A message with a new id, a known business key and other
   * content is a conflict.
   */
  businessDigest?: (message: M) => unknown
  /** Messages with the same order key are applied in order of arrival. Required by `order: 'key'`. */
  orderKey?: From<M>
  /**
   * The message id contains its creation time. The consumer can then recognise messages older than the
   * remaining markers on every source.
   */
  idTime?: 'uuidv7' | 'ulid'
  /** The event the message reports; the same in every message about it. */
  eventId?: From<M>
  /** The key the sender gave the operation. */
  idempotencyKey?: From<M>
  /**
   * The entity the message is about. Without an order, handlers start in the order of this id, so that
   * concurrent transactions lock rows in the same order.
   */
  aggregateId?: From<M>
  /** The version of the entity after this message. */
  aggregateVersion?: From<M>
  correlationId?: From<M>
  causationId?: From<M>
  /** Compared with `message.types`. */
  type?: From<M>
  /** The program that sent the message. */
  producer?: From<M>
  /** Compared with `message.versions`. */
  schemaVersion?: From<M>
  /**
   * When the event happened, by its producer: an ISO 8601 text with a time zone, or milliseconds since 1970.
   * Evidence only; anything else counts as absent.
   */
  occurredAt?: From<M>
}

export interface EffectSection<
  M = unknown,
  External extends string = string,
  Publish extends string = string,
> {
  /** A declared effect that replaces the handler, such as `projection(...)`. Needs a SQL store. */
  apply?: DeclaredEffect<M>
  /** Targets of `effects.external(name, …)`. */
  external?: Record<External, ExternalTarget> | Record<string, ExternalTarget>
  /** Targets of `effects.publish(name, …)`. */
  publish?: Record<Publish, PublishTarget> | Record<string, PublishTarget>
}

export interface BatchSection {
  /** Most messages in one transaction. Default 500. */
  sizeMax?: number
  /** Batches in progress at a time. Default 2, so that decoding overlaps committing. */
  inFlightMax?: number
  /**
   * Most unsettled deliveries held in memory. Default 2,000, for logs 3,000. Logs reserve a third for
   * partitions with little in flight; with 2,000 a full batch could not be read ahead of two.
   */
  deliveriesMax?: number
  /** Most bytes of unsettled deliveries held in memory. Default 64 MiB. */
  bytesMax?: number
  /** Default 10 s. A handler that takes longer is aborted, and its transaction is rolled back. */
  handlerTimeoutMs?: number
}

export interface InboxSection {
  /**
   * Default `transactional`: effect and marker commit, then the broker is acknowledged; a failed message
   * waits at the broker. `stored`: the consumer stores the message and acknowledges it, and workers of any
   * process apply it later under a lease. Use it for slow work, or for messages that must not wait at the
   * broker.
   */
  mode?: 'transactional' | 'stored'
  /**
   * How long a silent worker keeps its lease. Default 30 s; a running worker extends it every third of that
   * time.
   */
  leaseMs?: number
  /** Batches one process works on at a time, each in its own transaction. Default 2; slow work needs more. */
  workers?: number
}

export interface IsolationSection {
  /**
   * Default `none`. `child`: the consumer runs in a child process. The parent restarts it after a crash, and
   * kills it when its event loop blocks, as in an endless loop. The message at fault is then identified and
   * parked.
   */
  mode?: 'none' | 'child'
  /** How long the child may be silent before it is killed. Default `batch.handlerTimeoutMs`, at least 1 s. */
  deadlineMs?: number
  /** Largest heap of the child, in MiB. Default null: Node's own limit. */
  memoryMaxMb?: number | null
}
