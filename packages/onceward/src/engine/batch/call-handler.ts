import type { Handler, HandlerContext } from '../../contract/handler.ts'
import type { ReadableMessage } from '../../message/received.ts'
import type { HandlerTransaction, StoreSession } from '../../ports/store.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import { bufferEffects, type Requested } from './buffer-effects.ts'
import type { Deadline } from './handler-deadline.ts'
import { handlerEnvelope } from './handler-envelope.ts'
import { checkTransaction, factOfError, handled, handlerTrouble } from './handler-result.ts'
import { type Fact, isApplied } from './outcome.ts'
import { lostLeases } from './stored-mode.ts'
import { isVerdict } from './verdicts.ts'

/** What the handler calls of one round share. */
export interface HandlerRound<M, Tx> {
  readonly requested: Requested<M>
  readonly session: StoreSession<Tx>
  readonly context: ConsumerContext<M, Tx>
  readonly deadline: Deadline
}

/** The context of a handler, without its transaction. */
export type CallContext<M> = Omit<HandlerContext<M, unknown>, 'tx'>

export interface HandlerEnd {
  readonly fact: Fact
  /** It sent statements: only a rollback undoes them. */
  readonly wrote: boolean
}

/**
 * One call of a handler for one message, with a handle on the transaction that is revoked when the call ends.
 * Rejects if the failure belongs to no message.
 */
export async function callHandler<M, Tx>(
  received: ReadableMessage<M>,
  handle: (given: CallContext<M>, handlerTx: HandlerTransaction<Tx>) => ReturnType<Handler<M, Tx>>,
  { requested, session, context, deadline }: HandlerRound<M, Tx>,
): Promise<HandlerEnd> {
  const { mode, env } = context
  const handlerTx = session.handlerTransaction(true)
  const effects = bufferEffects(received, requested, session, context)
  let fact: Fact
  let cut: Error | undefined
  try {
    const given: CallContext<M> = {
      message: received.message,
      envelope: handlerEnvelope(received, context),
      effects,
      waited: received.delivery.held?.waited ?? null,
      run: context.enrolment.runId,
      mode,
      signal: deadline.signal,
      log: env.log,
    }
    const verdict = await deadline.within(handle(given, handlerTx))
    fact = isVerdict(verdict) ? { kind: 'verdict', verdict } : handled
    if (isApplied(fact)) await checkTransaction(handlerTx)
  } catch (error) {
    cut = deadline.cutBy(error)
    if (context.signal.aborted || lostLeases(error) !== null) throw error
    if (handlerTx.failure !== undefined) {
      const trouble = handlerTrouble(handlerTx.failure, context)
      if (trouble === 'victim')
        return { fact: { kind: 'behind', leader: 'gone', delayMs: 0 }, wrote: handlerTx.used }
      if (trouble !== 'statement') throw handlerTx.failure
    }
    fact = factOfError(error, context)
  } finally {
    handlerTx.revoke(cut)
    effects.close(cut)
  }
  return { fact, wrote: handlerTx.used }
}
