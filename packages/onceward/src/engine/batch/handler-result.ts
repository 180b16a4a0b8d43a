import { OncewardError } from '../../errors.ts'
import type { Received } from '../../message/received.ts'
import type { HandlerTransaction } from '../../ports/store.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import { classifyFailure } from '../retry/classify-failure.ts'
import type { Fact } from './outcome.ts'
import { isVerdict } from './verdicts.ts'

export const handled: Fact = { kind: 'handled' }

/** The round must be rolled back; these messages are why. With no one named, somebody in the batch is. */
export class RoundFailed extends Error {
  readonly culprits: ReadonlyMap<Received, Fact>
  constructor(culprits: ReadonlyMap<Received, Fact>, cause?: unknown) {
    super('round failed', { cause })
    this.culprits = culprits
  }
}

/** A handler that returned normally may still have left its transaction in a bad way. */
export async function afterHandler<Tx>(handlerTx: HandlerTransaction<Tx>): Promise<Fact> {
  if (handlerTx.pending > 0) {
    handlerTx.revoke() // a statement that leaves a queue of the library from now on would belong to nobody
    await handlerTx.idle()
    throw new OncewardError(
      'tx_not_awaited',
      'The handler returned before a statement on `tx` was answered. Nothing was committed; await every tx.query.',
    )
  }
  if (handlerTx.failure !== undefined) {
    throw new OncewardError(
      'tx_error_swallowed',
      'The handler caught the error of a statement on `tx` and went on, but PostgreSQL has aborted the transaction. Nothing was committed; let the error through, or avoid it (on conflict do nothing).',
      { cause: handlerTx.failure },
    )
  }
  return handled
}

export function factOfError<M, Tx>(error: unknown, context: ConsumerContext<M, Tx>): Fact {
  if (isVerdict(error)) return { kind: 'verdict', verdict: error }
  const said = context.store.sql?.unwrap?.(error) ?? error
  return { kind: 'failed', failure: classifyFailure(said, context.consumer.failure.classes) }
}
