import type { Environment } from '../environment.ts'
import type { ConsumerContract } from './contract.ts'
import type { Consumer } from './define-consumer.ts'
import type { BatchContext, BatchHandler, SqlTransaction } from './handler.ts'

/**
 * An effect that is declared instead of written: made by `projection(...)` and its like, given as
 * `effect.apply` in place of a handler. It is applied to a whole batch at once and answers with a verdict for
 * each message that changed nothing.
 */
export interface DeclaredEffect<M = unknown> {
  readonly kind: string

  /** The words it may say of a message, counted in the metrics. */
  readonly codes?: readonly string[]

  /** Its own rows recognise what was applied, so that `dedup: 'version'` needs no markers. */
  readonly remembers?: boolean

  /**
   * It may answer `Verdict.wait`, or stop a key that people release: workers then run beside the consumer and
   * take that up.
   */
  readonly mayWait?: boolean

  /** It knows what a record without a body means: `message.tombstones` need not say so. */
  readonly tombstones?: boolean

  /**
   * Called about once a second, outside any batch, while messages of the consumer wait. Releases those whose
   * turn has come by a write that was not this consumer's own. May be repeated, and may run in several
   * processes at once.
   */
  releaseWaiting?(query: SqlTransaction['query'], consumerId: number): Promise<void>

  /** The tables it writes, as declared: what a rebuild makes anew. */
  readonly tables?: readonly string[]

  /**
   * Where its tables name the messages they are from: what `onceward explain` and `onceward audit reconcile`
   * read. Pure.
   */
  traces?(): readonly EffectTrace[]

  /**
   * Called by `defineConsumer`, before anything is started. Places are relative to the effect:
   * `gap.deadlineMs`.
   */
  problems(contract: ConsumerContract<M>): readonly { readonly place: string; readonly text: string }[]

  /**
   * Called once per start: compares the declaration with the database. Throws one error that names the field
   * and the fix.
   */
  verify(query: SqlTransaction['query'], start: EffectStart<M>): Promise<void>

  /** What `onceward contract --mermaid` draws, for effects that have a picture. Pure. */
  mermaid?(): string

  /** Called like `handleBatch`, with its guarantees. */
  apply(context: BatchContext<M, SqlTransaction>): ReturnType<BatchHandler<M, SqlTransaction>>
}

/** A table that an effect writes, and the columns by which its rows are told apart. Names are as declared. */
export interface EffectTrace {
  readonly table: string
  /** The column with the message id; null where rows do not carry it. */
  readonly message: string | null
  /** The column of the thing the row is about. */
  readonly key: string | null
  readonly version: string | null
  readonly at: string | null
  /** The column with the consumer's name, in tables several consumers may write. */
  readonly consumer: string | null
  /** `all`: every applied message has a row. `some`: rows are overwritten by later messages. */
  readonly covers: 'all' | 'some'
  /** Columns that say what was decided. */
  readonly shown: readonly string[]
  /** Columns that hold what messages carried: shown only when asked for. */
  readonly content: readonly string[]
}

/** What an effect is told at the start: who uses it, and the world it may ask for timers. */
export interface EffectStart<M = unknown> {
  readonly consumer: Pick<Consumer<M>, 'name' | 'order' | 'dedup'>
  readonly env: Environment
}
