import type { Dedup } from '../contract/contract.ts'
import type { SqlTransaction } from '../contract/handler.ts'
import type { BrakeLedger } from './brakes.ts'
import type { StoreCapabilities } from './capabilities.ts'
import type { HeldSession, WorkQueue } from './held-work.ts'
import type { BrokerIdentity, Delivery, HeldFacts, Loss, Ownership, Position, Progress } from './source.ts'
import type { SuspectStore } from './suspects.ts'
import type { TopicLimits } from './topic-limits.ts'

/**
 * The database adapter. `Tx` is the type of a handler's `tx`. One store serves many consumers; one
 * transaction serves one batch of one consumer.
 *
 * The members up to `diagnose` are required. Each optional group belongs to a feature of the contract or of
 * the source. A consumer whose contract needs a missing group is refused at start with a `configuration`
 * error.
 */
export interface Store<Tx> {
  readonly capabilities: StoreCapabilities

  /**
   * Called once per consumer start, before the source opens. Checks that this version understands the schema
   * and that the name does not belong to another environment, then opens a run.
   */
  enroll(consumer: ConsumerFacts): Promise<Enrolment>

  /**
   * Called once when a consumer has drained or halted. A run that is never closed counts as crashed. Closing
   * withdraws the attempts and groups of suspects that the run began. With `halted`, the code of the error
   * that halted it, they stay: the deliveries in flight may be the cause, and the run counts as silent until
   * it is cleared.
   */
  closeRun(enrolment: Enrolment, halted?: string): Promise<void>

  /**
   * Called once per round of a batch. Runs `work` in one transaction, proves with a last statement that the
   * transaction was not aborted, commits, and checks the answer. A rejection means that nothing was
   * committed, with one exception: when the answer to COMMIT was lost the result is unknown, `diagnose`
   * returns `unavailable`, and the redelivery finds out.
   */
  transaction<T>(enrolment: Enrolment, work: (session: StoreSession<Tx>) => Promise<T>): Promise<T>

  /** Called after `unavailable`, repeatedly, until it resolves. */
  ping(): Promise<void>

  /** Pure. Classifies an error thrown by this store. */
  diagnose(error: unknown): StoreTrouble

  /** Reading logs: ownership and positions of partitions. Sessions then have `log`. */
  readonly checkpoints?: CheckpointStore

  /** Work to be done later: stored mode, `failure.mode: 'defer'`. Sessions then have `held`. */
  readonly work?: WorkQueue

  /** Durable stores: which runs crashed, and while handling what. Sessions then have `suspects`. */
  readonly suspects?: SuspectStore

  /** Durable stores: event types that are paused because most of their messages fail. */
  readonly brakes?: BrakeLedger

  /** SQL stores: statements outside any batch. Declared effects and campaigns need them. */
  readonly sql?: StoreSql

  /** Stores shared by several environments or consumers: which name reads where. */
  readonly registry?: StoreRegistry

  /** Stores that keep evidence beside the markers. */
  readonly evidence?: StoreEvidence
}

/** Each call is a transaction of its own. */
export interface CheckpointStore {
  /**
   * Called when partitions of a log are assigned to this run. Raises each epoch. Waits for transactions of
   * the earlier owner that have passed their fence; the others will fail at it.
   */
  take(enrolment: Enrolment, partitions: readonly string[]): Promise<readonly Ownership[]>

  /**
   * Called when a position is decided without an effect. Rejects with `ownership_lost` when another run has
   * taken the partition.
   */
  begin(enrolment: Enrolment, partition: string, epoch: number, position: Position): Promise<void>

  /** Records a loss, once however often it is declared. */
  declareLoss(enrolment: Enrolment, loss: Loss): Promise<void>

  /**
   * Closes the loss declared at `from` as withdrawn. Rejects with `ownership_lost` when another run has taken
   * the partition.
   */
  withdrawLoss(
    enrolment: Enrolment,
    partition: string,
    epoch: number,
    from: Position,
    reason: string,
  ): Promise<void>
}

export interface StoreSql {
  /** One statement outside any batch, such as the checks of a declared effect at start. */
  readonly query: SqlTransaction['query']
  /**
   * Pure. Where the library of the handle wraps errors: the error inside, which carries the server's code.
   */
  readonly unwrap?: (error: unknown) => unknown
}

export interface StoreRegistry {
  /**
   * Called when the source is open, before the first delivery is processed. From then on the consumer's name
   * is the one that reads there; a consumer that never reached its broker registers nothing. Rejects with
   * `consumer_renamed` when another name was registered first.
   */
  registerReader(enrolment: Enrolment): Promise<void>

  /**
   * Called when the broker has reported its cluster, before the first delivery is taken. Rejects with
   * `wrong_environment` when other clusters of the kind feed this store and no operator has allowed this one.
   */
  registerBroker(broker: BrokerIdentity): Promise<void>
}

export interface StoreEvidence {
  /**
   * Called after a commit, in live mode, with the ids of deliveries recognised as repeats. Best effort and
   * not awaited: a crash loses what is not written yet, and under a storm of repeats only some are written.
   */
  noteRepeats(enrolment: Enrolment, ids: readonly string[]): void
}

export type StoreTrouble =
  /** Serialization failure or deadlock: the same batch may succeed when run again. */
  | 'contention'
  /** A bounded wait for another transaction's lock expired. */
  | 'lock wait'
  /** An earlier statement of the transaction failed; this one is only its victim. */
  | 'victim'
  /** Connection lost, server starting, disk full: nothing to do with any message. */
  | 'unavailable'
  /** Missing rights, missing tables, wrong password: an operator must act. */
  | 'configuration'
  /** Belongs to the statement that raised it. */
  | 'statement'

/**
 * The calls of one batch inside one transaction, in this order; most batches need only some of them:
 *
 * 1. insert: `log.positions`, `campaign.givenUp`, `insertMarkers`, `held.makeLive`,
 *    `history.givenUpElsewhere`, `businessKeys`, `parkedTotal`, `keyOrder`, `held.keysAtWork`,
 *    `history.horizon`;
 * 2. apply: handler transactions and savepoints, `outgoing`;
 * 3. conclude: `suspects.withdrawAttempts`, `countAttempts`, `parkedTotal`, calls of `held`,
 *    `outgoing.publish` for retry copies, `conclude`, `campaign.journal`;
 * 4. `log.advance`, the last.
 *
 * The members up to `parkedTotal` are required. A group is present when the store's capabilities, or the
 * store's group of the same feature, say so.
 */
export interface StoreSession<Tx> {
  /**
   * Inserts one marker per message in one statement, keys sorted, conflicts ignored, and reads the existing
   * ones back in a second statement. The ids are distinct. An id that another open transaction has inserted
   * waits, bounded, for the end of that transaction, so an answer is never a guess. Answers in the order of
   * the messages. `as`: the status of the new markers.
   */
  insertMarkers(claims: readonly NewMarker[], as?: 'applied' | 'stored'): Promise<readonly MarkerAnswer[]>

  /**
   * A handle on the transaction for one handler call, revoked when the call ends. `shared`: other calls have
   * a handle at the same time.
   */
  handlerTransaction(shared?: boolean): HandlerTransaction<Tx>

  /**
   * Adds one failed attempt for each id, durable if the transaction commits. Answers with the counts, these
   * included.
   */
  countAttempts(failures: readonly AttemptRecord[]): Promise<readonly AttemptCount[]>

  /**
   * Changes the markers this transaction inserted: removes those of messages to be retried, sets the status
   * of the others. Stores held messages. A store that copies messages to a dead-letter destination answers
   * with those it copied.
   */
  conclude(conclusions: readonly Conclusion[]): Promise<ReadonlySet<Conclusion> | void>

  /** How many messages of the consumer are parked. Only called when another is to be parked. */
  parkedTotal(): Promise<number>

  /** `capabilities.businessKeys`. */
  readonly businessKeys?: BusinessKeySession

  /** `capabilities.receipts`. */
  readonly receipts?: ReceiptSession

  /** `capabilities.keyOrder`. */
  readonly keyOrder?: KeyOrderSession

  /** `capabilities.outgoing`. */
  readonly outgoing?: OutgoingSession

  /** Stores with `checkpoints`. */
  readonly log?: LogSession

  /** Stores with `work`. */
  readonly held?: HeldSession

  /** Stores with `suspects`. */
  readonly suspects?: SuspectSession

  /** Stores with retention, or with several generations of a consumer. */
  readonly history?: HistorySession

  /** Stores that keep evidence beside the markers. */
  readonly evidence?: EvidenceSession

  /** Present in campaigns only. */
  readonly campaign?: CampaignSession

  /**
   * Stores that several processes share: called after the markers and before the handlers of a batch, when
   * they write one by one. Keeps such batches of other processes from a deadlock over the same rows.
   */
  lockWrites?(messages: number): Promise<void>

  /**
   * Stores with `capabilities.concurrent` that can undo part of a transaction: marks the current place. Not
   * awaited: later statements come after it.
   */
  savepoint?(): Savepoint
}

export interface BusinessKeySession {
  /**
   * As `insertMarkers`, for declared business keys, after the markers. The keys are distinct. A holder whose
   * status is unfinished keeps that status until this transaction ends, so a message stored now to wait for
   * it is seen by the transaction that ends it.
   */
  insert(claims: readonly NewBusinessKey[]): Promise<readonly BusinessKeyAnswer[]>
}

export interface KeyOrderSession {
  /** Of these keys, those behind a parked message, or behind one that workers are working off. */
  blockedKeys(keys: readonly string[]): Promise<ReadonlyMap<string, BlockedKey>>
}

export interface OutgoingSession {
  /** Records intents of external effects, one per (consumer name, target, key). */
  request(intents: readonly Intent[]): Promise<readonly IntentAnswer[]>

  /** Writes messages into the outbox, in this order; a relay publishes them after the commit. */
  publish(messages: readonly Outgoing[]): Promise<void>
}

export interface LogSession {
  /**
   * The stored positions. Called after `position_moved`, and when an earlier attempt of the batch may have
   * committed, to learn whether it did.
   */
  positions(partitions: readonly string[]): Promise<ReadonlyMap<string, Position>>

  /**
   * The last call, once. Proves that every partition is still this run's and moves those positions that move.
   * Rejects with `ownership_lost` or `position_moved` (details: `partitions`), having written nothing that
   * could commit. A store may do it with its commit: then the transaction rejects.
   */
  advance(progress: readonly Progress[]): Promise<void>
}

export interface SuspectSession {
  /**
   * The handlers of these returned: withdraws what `beginAttempt` and `beginGroup` wrote for them in this
   * run.
   */
  withdrawAttempts(ids: readonly string[]): Promise<void>
}

export interface HistorySession {
  /**
   * Markers of messages made before `purgedBeforeMs` are gone; null when none are. `keepMs`: the retention of
   * markers that a process declared last; null when none did. `nowMs`: the database's time. Times since 1970.
   */
  horizon(): Promise<{
    readonly purgedBeforeMs: number | null
    readonly keepMs: number | null
    readonly nowMs: number
  }>

  /**
   * The messages that people gave up under other generations of the consumer. Absent in campaigns, and where
   * no other generation existed when the run began.
   */
  readonly givenUpElsewhere?: FindGivenUp | undefined
}

export interface EvidenceSession {
  /** Adds evidence to the markers of these messages. The first one of a message under a name stays. */
  note(notes: readonly EvidenceNote[]): Promise<void>

  /** Whether a marker of the newest generation of the consumer, committed before, says `applied`. */
  isApplied(messageId: string, consumer: string): Promise<boolean>
}

/** Both texts can be stored as they are. */
export interface EvidenceNote {
  readonly messageId: string
  readonly name: string
  readonly detail: string
}

export interface CampaignSession {
  /** The campaign's journal, written by `log.advance`, with the effects or not at all. */
  readonly journal: BatchJournal
  /** They get no marker and have no effect. Absent where the campaign includes what people gave up. */
  readonly givenUp?: FindGivenUp | undefined
}

/** Of these messages, those that people gave up: the index in the list, with the reason they gave. */
export type FindGivenUp = (
  messages: readonly { readonly id: string | null; readonly digest: Buffer }[],
) => Promise<ReadonlyMap<number, string>>

/**
 * What a campaign records of a batch. Called between the handlers and `advance`; a round that fails is
 * recorded again.
 */
export interface BatchJournal {
  /** Effects that handlers requested and the mode suppresses. */
  suppressed(effects: readonly SuppressedEffect[]): void
  /** The decision on each message. */
  decided(decided: readonly DecidedMessage[]): void
}

export interface SuppressedEffect {
  readonly kind: 'external' | 'call' | 'publish'
  readonly messageId: string
  readonly target: string
  readonly key: string
  readonly digest: Buffer
}

export interface DecidedMessage {
  readonly received: {
    readonly id: string | null
    readonly digest: Buffer
    readonly delivery: Pick<Delivery, 'position' | 'partition' | 'place'>
    readonly orderKey?: string | null
    readonly envelope?: { readonly aggregateId: string | null }
  }
  readonly decision: { readonly outcome: string; readonly code: string; readonly reason: string }
}

export interface BlockedKey {
  /** An operator released the key: workers process it until it is empty. */
  readonly released: boolean
  /** How many messages wait behind its head. */
  readonly waiting: number
}

export interface Savepoint {
  /** Undoes every statement sent since, failed ones included. */
  undo(): Promise<void>
  keep(): void
}

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

export interface NewMarker {
  readonly id: string
  readonly digest: Buffer
  /** The digest that older code computed for the same content. A marker with it belongs to this content. */
  readonly formerDigest?: Buffer
  readonly position: string | null
  /**
   * What is kept of the message beside its marker, in the same transaction. Absent where the contract asks
   * for none.
   */
  readonly receipt?: Receipt
}

/** The facts of one message, as an auditor asks for them. Null: the message does not have it. */
export interface ReceiptFacts {
  readonly type: string | null
  readonly schemaVersion: string | null
  readonly producer: string | null
  readonly correlationId: string | null
  readonly causationId: string | null
  readonly eventId: string | null
  readonly businessKey: string | null
  readonly aggregateId: string | null
  readonly aggregateVersion: string | null
  readonly origin: string
  readonly position: string | null
  /** The broker's timestamp: when the event happened or was sent. */
  readonly sentMs: number | null
  readonly mode: string
  readonly campaign: string | null
}

export interface Receipt {
  readonly facts: ReceiptFacts
  /** The bytes of the message; null where the contract keeps the facts only. */
  readonly payload: Buffer | null
  /** It must be found without a marker: there is none, or the marker is removed earlier. */
  readonly outlivesMarker: boolean
}

export interface ReceiptSession {
  /** Writes the receipts of messages that get no marker. */
  keep(messages: readonly (Pick<NewMarker, 'id' | 'digest'> & { readonly receipt: Receipt })[]): Promise<void>
}

export type MarkerStatus =
  | 'applied'
  | 'ignored'
  | 'duplicate'
  | 'stale'
  /** Durable here and unfinished: to be processed later, after a missing version, or by an operator. */
  | 'stored'
  | 'waiting'
  | 'parked'
  | 'dead'
  | 'quarantined'

export type MarkerAnswer =
  | { readonly kind: 'first' }
  | { readonly kind: 'seen'; readonly status: MarkerStatus; readonly sameDigest: boolean }

export interface NewBusinessKey {
  readonly key: string
  /** Digest over the declared business fields; null when the contract declares none. */
  readonly digest: Buffer | null
  readonly id: string
}

export type BusinessKeyAnswer =
  | { readonly kind: 'first' }
  | {
      readonly kind: 'seen'
      /** The message that holds the key, and the status of its marker; null when the marker is gone. */
      readonly byId: string
      readonly status: MarkerStatus | null
      readonly sameDigest: boolean
      /** How many messages wait for the key. */
      readonly waiting: number
    }

/** A handle on the transaction for one handler call, with a record of its use. */
export interface HandlerTransaction<Tx> {
  readonly tx: Tx
  /**
   * SQL stores: the same handle for statements given as text. Declared effects get it, for any type of `tx`.
   */
  readonly sql?: SqlTransaction
  /** True once the handler has sent a statement: only a rollback can undo its writes then. */
  readonly used: boolean
  /** The first error of any of its statements, even if the handler swallowed it. */
  readonly failure: unknown
  /** Statements sent and not answered yet. */
  readonly pending: number
  /**
   * Called when the handler has ended. Closes rows that it left unread; resolves when no statement is
   * pending.
   */
  idle(): Promise<void>
  /**
   * Refuses further use with an explaining error, including statements that wait in a queue of its library.
   * `cut`: why the call was ended before its handler returned. The first call counts.
   */
  revoke(cut?: Error): void
}

export interface Intent {
  readonly messageId: string
  /** The business key of the message; null when it has none. */
  readonly businessKey: string | null
  /** The kind of the target. */
  readonly effectType: string
  readonly target: string
  readonly key: string
  readonly body: Buffer
  readonly contentType: string
  /** Digest over the bytes that will be sent. */
  readonly digest: Buffer
}

/**
 * A message of the outbox. Its destination is a kind of broker, and there a queue, a topic, or an exchange
 * with `queue` as routing key.
 */
export interface Outgoing {
  readonly broker: string
  /** Which broker of that kind, by name. Absent: the consumer's own, see `ConsumerFacts.destinations`. */
  readonly destination?: string
  readonly exchange: string | null
  readonly queue: string
  /** The same each time the same cause publishes it. */
  readonly messageId: string
  /** Messages of one key reach one queue in order. */
  readonly key: string | null
  /** As stored JSON. */
  readonly headers: string
  readonly properties: string
  readonly body: Buffer
  /** The message whose handler publishes it, when evidence of it is kept. */
  readonly cause?: string
}

export type IntentAnswer = 'recorded' | 'suppressed duplicate' | 'conflict'

export interface AttemptRecord {
  readonly id: string
  readonly failureClass: string
  readonly code: string
  readonly error: string
  /** Where it was thrown; '' when unknown. */
  readonly place: string
}

export interface AttemptCount {
  readonly total: number
  readonly byClass: Readonly<Record<string, number>>
  /** Of the same class, code and place. */
  readonly same: number
}

export interface Conclusion {
  /** Null for bytes without a usable id. */
  readonly id: string | null
  readonly digest: Buffer
  /** `retry` removes the marker; a status changes it. */
  readonly to: 'retry' | MarkerStatus
  /** The marker was inserted by this transaction (false: it belongs to an earlier one, or there is none). */
  readonly claimed: boolean
  /**
   * The business key it releases to the first message that waits for it; null when it keeps its key or has
   * none.
   */
  readonly businessKey: string | null
  /** Why it had no effect, kept with the marker. */
  readonly because?: string | null
  /** Everything needed to process the message later; null when it is not held. */
  readonly held: HeldRecord | null
}

/** The business key of held work. */
export interface HeldKey {
  readonly businessKey: string | null
  /** Written with the key whenever this message gets the key; null when none is declared or read. */
  readonly businessDigest: Buffer | null
  /** It does not hold its key: the worker that leases it asks for the key first. */
  readonly keyless: boolean
}

export const heldStates = ['stored', 'waiting', 'parked', 'dead', 'quarantined'] as const
export type HeldState = (typeof heldStates)[number]

/**
 * What a message is, read from it once and kept beside its bytes. Null: it has none, or could not be read.
 */
export interface HeldIdentities {
  readonly messageType: string | null
  readonly schemaVersion: string | null
  readonly producer: string | null
  readonly correlationId: string | null
  readonly aggregateId: string | null
  readonly aggregateVersion: string | null
}

export interface HeldRecord extends HeldKey, HeldIdentities {
  readonly state: HeldState
  /**
   * The row it had until now, which is its place in the order of its key, and the lease that ends with this.
   * Its epoch stays, so that no later lease equals an earlier one. Null when it was not held.
   */
  readonly was: Pick<HeldFacts, 'row' | 'epoch' | 'firstAt' | 'cameFrom'> | null
  readonly reason: string
  readonly failureClass: string
  readonly code: string
  readonly error: string | null
  readonly place: string
  /** The order key: later messages of it wait behind this one while it is parked. Null when unordered. */
  readonly orderKey: string | null
  /** Its version among those that wait under the key; only with `waiting`. */
  readonly version: bigint | null
  /** The delay until a worker may lease it; null when only operators release it. */
  readonly dueInMs: number | null
  readonly attempts: number
  /** The dead-letter queue of the contract, if it names one, gets a copy. */
  readonly copied: boolean
  readonly body: Buffer
  readonly headers: string
  readonly properties: string
  readonly origin: string
  readonly position: string | null
  readonly brokerKey: string | null
  readonly deliveryCount: number
}
