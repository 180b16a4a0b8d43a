import { OncewardError } from '../../errors.ts'
import type { Received } from '../../message/received.ts'
import type { HandlerTransaction } from '../../ports/handler-transaction.ts'
import type { StoreTrouble } from '../../ports/store.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import { classifyFailure, concernsEveryMessage } from '../retry/classify-failure.ts'
import type { Fact } from './outcome.ts'
import { isVerdict } from './verdicts.ts'

export const handled: Fact = { kind: 'handled' }

/**
 * The round must be rolled back because of these messages. Without culprits, the cause in the batch is
 * unknown.
 */
export class RoundFailed extends Error {
  readonly culprits: ReadonlyMap<Received, Fact>
  constructor(culprits: ReadonlyMap<Received, Fact>, cause?: unknown) {
    super('round failed', { cause })
    this.culprits = culprits
  }
}

/**
 * Checks the transaction after a handler that returned normally. Null, without a wait, if all its statements
 * were answered and none failed.
 */
export function checkTransaction<Tx>(handlerTx: HandlerTransaction<Tx>): Promise<never> | null {
  if (handlerTx.pending > 0) return refuseUnanswered(handlerTx)
  return handlerTx.failure === undefined ? null : Promise.reject(swallowed(handlerTx.failure))
}

async function refuseUnanswered<Tx>(handlerTx: HandlerTransaction<Tx>): Promise<never> {
  handlerTx.revoke() // a statement that leaves the library's queue later would belong to no handler
  await handlerTx.idle()
  throw new OncewardError(
    'tx_not_awaited',
    'The handler returned before a statement on `tx` was answered. Nothing was committed; await every tx.query.',
  )
}

function swallowed(failure: unknown): OncewardError {
  return new OncewardError(
    'tx_error_swallowed',
    'The handler caught the error of a statement on `tx` and continued, but PostgreSQL has aborted the transaction. Nothing was committed; rethrow the error, or avoid it (on conflict do nothing).',
    { cause: failure },
  )
}

/**
 * What the failed statement of a handler says about the store: `statement` if the failure belongs to its
 * message.
 */
export function handlerTrouble<M, Tx>(
  failure: unknown,
  { store, consumer }: ConsumerContext<M, Tx>,
): StoreTrouble {
  const trouble = store.diagnose(failure)
  if (trouble !== 'configuration') return trouble
  const said = store.sql?.unwrap?.(failure) ?? failure
  return concernsEveryMessage(said, consumer.failure.classes) ? trouble : 'statement'
}

export function factOfError<M, Tx>(error: unknown, context: ConsumerContext<M, Tx>): Fact {
  if (isVerdict(error)) return { kind: 'verdict', verdict: error }
  const said = context.store.sql?.unwrap?.(error) ?? error
  return { kind: 'failed', failure: classifyFailure(said, context.consumer.failure.classes) }
}
