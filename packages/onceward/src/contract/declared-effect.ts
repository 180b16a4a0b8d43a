import type { Environment } from '../environment.ts'
import type { ConsumerContract } from './contract.ts'
import type { Consumer } from './define-consumer.ts'
import type {
  BatchContext,
  BatchHandler,
  BatchItem,
  Handler,
  HandlerContext,
  SqlTransaction,
} from './handler.ts'

/**
 * An effect that is declared instead of coded. It is made by `projection(...)` and similar functions, and set
 * as `effect.apply` in place of a handler. It is applied to a whole batch at once, and returns a verdict for
 * each message that changed nothing.
 */
export interface DeclaredEffect<M = unknown> {
  readonly kind: string

  /** The reasons it may give in verdicts; counted in the metrics. */
  readonly codes?: readonly string[]

  /** Its own rows identify applied messages, so that `dedup: 'version'` needs no markers. */
  readonly remembers?: boolean

  /**
   * It may return `Verdict.wait`, or block a key until an operator releases it. The runtime then starts
   * workers beside the consumer to apply released messages.
   */
  readonly mayWait?: boolean

  /**
   * Until this long after its time, an event may still change something: a window and its tolerance for late
   * events. Markers are kept at least as long.
   */
  readonly repeatsMs?: number

  /** What the contract page says beside its kind and tables. */
  readonly details?: string

  /** It handles records without a body: `message.tombstones` can be omitted. */
  readonly tombstones?: boolean

  /**
   * Called about once a second, outside any batch, while messages of the consumer wait. It releases messages
   * that another writer's change has made ready. It may be called repeatedly, and concurrently in several
   * processes.
   */
  releaseWaiting?(query: SqlTransaction['query'], consumerId: number): Promise<void>

  /** The tables it writes, as declared. A rebuild recreates them. */
  readonly tables?: readonly string[]

  /**
   * Which columns of its tables refer to messages, for `onceward explain` and `onceward audit reconcile`.
   * Pure.
   */
  traces?(): readonly EffectTrace[]

  /**
   * Called by `defineConsumer`, before anything starts. Places are relative to the effect, such as
   * `gap.deadlineMs`.
   */
  problems(contract: ConsumerContract<M>): readonly { readonly place: string; readonly text: string }[]

  /**
   * Called once per start. It compares the declaration with the database, and throws one error that names the
   * field and the fix.
   */
  verify(query: SqlTransaction['query'], start: EffectStart<M>): Promise<void>

  /** The diagram of `onceward contract --mermaid`, for effects that have one. Pure. */
  mermaid?(): string

  /** Called like `handleBatch`, with the same guarantees. */
  apply(context: EffectContext<M>): ReturnType<BatchHandler<M, SqlTransaction>>

  /** The `after` of the declaration. Called by the engine for each message that `apply` reported. */
  after?(context: AfterContext<M, never>): ReturnType<Handler<M, SqlTransaction>>
}

/** What `apply` receives. */
export interface EffectContext<M> extends BatchContext<M, SqlTransaction> {
  /**
   * Present with `after`. Call it once for each message that changed something, in the order of the changes
   * of an entity. `after` is called for one message of an entity at a time.
   */
  readonly report?: (item: BatchItem<M>, entity: string, result: object) => void
}

/** What `after` of a declared effect receives: the context of a handler, and what the effect did. */
export interface AfterContext<M, R> extends HandlerContext<M, SqlTransaction> {
  readonly result: R
}

/**
 * Called for each message that a declared effect applied, in the same transaction. If it throws or returns a
 * verdict, the effect on its message is undone too, and the message follows the failure policy or the
 * verdict.
 */
export type After<M, R> = (context: AfterContext<M, R>) => ReturnType<Handler<M, SqlTransaction>>

/** A table that an effect writes, and the columns that identify its rows. Names are as declared. */
export interface EffectTrace {
  readonly table: string
  /** The column with the message id; null if rows do not have one. */
  readonly message: string | null
  /** The column that identifies the entity of the row. */
  readonly key: string | null
  readonly version: string | null
  readonly at: string | null
  /** The column with the consumer's name, in tables several consumers may write. */
  readonly consumer: string | null
  /** `all`: every applied message has a row. `some`: rows are overwritten by later messages. */
  readonly covers: 'all' | 'some'
  /** Columns that show the decision. */
  readonly shown: readonly string[]
  /** Columns with message content, shown only on request. */
  readonly content: readonly string[]
}

/** What an effect receives at the start: the consumer that uses it, and the environment with its timers. */
export interface EffectStart<M = unknown> {
  readonly consumer: Pick<Consumer<M>, 'name' | 'order' | 'dedup'>
  readonly env: Environment
}
