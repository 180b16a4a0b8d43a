import type { BatchContext, BatchHandler, ConsumerContract, SqlTransaction } from './contract.ts'

/**
 * An effect that is declared instead of written: made by `projection(...)` and its like, given as `effect.apply` in place of a handler.
 * It is applied to a whole batch at once and answers with a verdict for each message that changed nothing.
 */
export interface DeclaredEffect<M = unknown> {
  readonly kind: string

  /** It may answer `Verdict.wait`: workers then run beside the consumer and take up what has waited. */
  readonly mayWait?: boolean

  /** Called by `defineConsumer`, before anything is started. Places are relative to the effect: `gap.deadlineMs`. */
  problems(contract: ConsumerContract<M>): readonly { readonly place: string; readonly text: string }[]

  /** Called once per start: compares the declaration with the database. Throws one error that names the field and the fix. */
  verify(query: SqlTransaction['query']): Promise<void>

  /** What `onceward contract --mermaid` draws, for effects that have a picture. Pure. */
  mermaid?(): string

  /** Called like `handleBatch`, with its guarantees. */
  apply(context: BatchContext<M, SqlTransaction>): ReturnType<BatchHandler<M, SqlTransaction>>
}
