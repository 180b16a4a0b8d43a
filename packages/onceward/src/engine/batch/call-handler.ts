import type { Handler, HandlerContext } from '../../contract/handler.ts'
import type { ReadableMessage } from '../../message/received.ts'
import type { HandlerTransaction } from '../../ports/handler-transaction.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import { bufferEffects, type ClosableEffects, type Requested } from './buffer-effects.ts'
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

/** The context of a handler. Its caller sets `tx`: what that is depends on the handler. */
export type CallContext<M> = Omit<HandlerContext<M, unknown>, 'tx'> & { tx: unknown }

export type CallHandle<M, Tx> = (
  given: CallContext<M>,
  handlerTx: HandlerTransaction<Tx>,
) => ReturnType<Handler<M, Tx>>

export interface CallObserver<M, Tx> {
  /** Asked before each call but the first: true if no further call may start. */
  isLate(): boolean
  /** Called when a call has ended; false if no further call may start. */
  ended(call: HandlerCall<M, Tx>): boolean
}

/**
 * Calls a handler for each message, one after the other. Rejects if a failure belongs to no message. Most
 * lanes have one message: an asynchronous function for each step of its call made 0.8 kB more garbage.
 */
export async function callInOrder<M, Tx>(
  lane: readonly ReadableMessage<M>[],
  handle: CallHandle<M, Tx>,
  round: HandlerRound<M, Tx>,
  observer: CallObserver<M, Tx>,
): Promise<void> {
  for (let at = 0; at < lane.length; at++) {
    if (at > 0 && observer.isLate()) return
    const call = new HandlerCall(lane[at]!, round)
    try {
      const mistake = call.returned(await round.deadline.within(call.start(handle)))
      if (mistake !== null) await mistake
    } catch (error) {
      call.failed(error)
    } finally {
      call.close()
    }
    if (!observer.ended(call)) return
  }
}

/** One call of a handler for one message, with a handle on the transaction that is revoked when it ends. */
export class HandlerCall<M, Tx> {
  readonly received: ReadableMessage<M>
  readonly startedMs: number
  readonly #handlerTx: HandlerTransaction<Tx>
  readonly #effects: ClosableEffects
  readonly #round: HandlerRound<M, Tx>
  #cut: Error | undefined
  fact: Fact = handled

  constructor(received: ReadableMessage<M>, round: HandlerRound<M, Tx>) {
    const { requested, session, context } = round
    this.received = received
    this.startedMs = context.env.clock.nowMs()
    this.#round = round
    this.#handlerTx = session.handlerTransaction(true)
    this.#effects = bufferEffects(received, requested, session, context)
  }

  /** It sent statements: only a rollback undoes them. */
  get wrote(): boolean {
    return this.#handlerTx.used
  }

  start(handle: CallHandle<M, Tx>): ReturnType<Handler<M, Tx>> {
    const { context, deadline } = this.#round
    const given: CallContext<M> = {
      message: this.received.message,
      tx: undefined,
      envelope: handlerEnvelope(this.received, context),
      effects: this.#effects,
      waited: this.received.delivery.held?.waited ?? null,
      run: context.enrolment.runId,
      mode: context.mode,
      signal: deadline.signal,
      log: context.env.log,
    }
    return handle(given, this.#handlerTx)
  }

  /** Not null if the handler made a mistake with its statements: rejects with it. */
  returned(verdict: unknown): Promise<never> | null {
    if (isVerdict(verdict)) this.fact = { kind: 'verdict', verdict }
    return isApplied(this.fact) ? checkTransaction(this.#handlerTx) : null
  }

  /** Throws if the failure belongs to no message. */
  failed(error: unknown): void {
    const { context, deadline } = this.#round
    const { failure } = this.#handlerTx
    this.#cut = deadline.cutBy(error)
    if (context.signal.aborted || lostLeases(error) !== null) throw error
    const trouble = failure === undefined ? 'statement' : handlerTrouble(failure, context)
    if (trouble === 'victim') this.fact = { kind: 'behind', leader: 'gone', delayMs: 0 }
    else if (trouble === 'statement') this.fact = factOfError(error, context)
    else throw failure
  }

  close(): void {
    this.#handlerTx.revoke(this.#cut)
    this.#effects.close(this.#cut)
  }
}
