import type { SqlTransaction } from '../contract/handler.ts'
import type { BrakeLedger } from './brakes.ts'
import type { StoreCapabilities } from './capabilities.ts'
import type { CheckpointStore } from './checkpoint-store.ts'
import type { ConsumerFacts, Enrolment } from './enrolment.ts'
import type { StoreEvidence } from './evidence.ts'
import type { WorkQueue } from './held-work.ts'
import type { BrokerIdentity } from './source.ts'
import type { StoreSession } from './store-session.ts'
import type { SuspectStore } from './suspects.ts'

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

/** Why a store cannot work at present, as its errors say. */
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
