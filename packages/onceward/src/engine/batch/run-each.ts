import type { Handler, HandlerContext } from '../../contract/handler.ts'
import type { ReadableMessage, Received } from '../../message/received.ts'
import type { HandlerTransaction } from '../../ports/handler-transaction.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import { bufferEffects, type ClosableEffects, type Requested } from './buffer-effects.ts'
import type { Deadline } from './handler-deadline.ts'
import { handlerEnvelope } from './handler-envelope.ts'
import { checkTransaction, factOfError, handled, handlerTrouble, RoundFailed } from './handler-result.ts'
import { type Fact, isApplied, stopsLane } from './outcome.ts'
import { runInParts } from './savepoint-policy.ts'
import { lostLeases } from './stored-mode.ts'
import { isVerdict } from './verdicts.ts'

/**
 * A lane that has run this long starts no further message; the rest returns, uncounted, for the next batch.
 * Slow handlers of one key then neither hold the transaction for long nor use up each other's time.
 */
export const laneCutMs = 1_000

/**
 * Runs lanes concurrently, each in order; a lane stops at the first message that does not succeed. Adds the
 * time of every call to `callSeconds`.
 */
export async function runEach<M, Tx>(
  due: readonly ReadableMessage<M>[],
  facts: Map<Received<M>, Fact>,
  requested: Requested<M>,
  session: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
  deadline: Deadline,
  callSeconds: number[],
): Promise<void> {
  const culprits = new Map<Received, Fact>()
  const lanes = lanesOf(due, context)
  const { env, store, consumer } = context
  const round = { requested, session, context, deadline }
  const call = (given: CallContext<M>, { tx }: HandlerTransaction<Tx>) => {
    given.tx = tx
    return consumer.handle!(given as HandlerContext<M, Tx>)
  }
  const began = env.clock.nowMs()
  const late = () => env.clock.nowMs() - began > laneCutMs
  const observe = (found: Map<Received, Fact>): CallObserver<M, Tx> => ({
    isLate: late,
    ended({ received, fact, wrote, startedMs }) {
      if (wrote && !isApplied(fact) && fact.kind !== 'behind') found.set(received, fact)
      received.handlerMs = env.clock.nowMs() - startedMs
      callSeconds.push(received.handlerMs / 1_000)
      facts.set(received, fact)
      return fact.kind === 'handled' || !(stopsLane(fact) || fact.kind === 'behind')
    },
  })
  const runnerOf = (found: Map<Received, Fact>) => {
    const observer = observe(found)
    return (lane: readonly ReadableMessage<M>[]) => callInOrder(lane, call, round, observer)
  }
  const runLane = runnerOf(culprits)
  if (!store.capabilities.concurrent) await inTurn(lanes, facts, runLane, () => culprits.size > 0 || late())
  else if (takesParts(session, context)) {
    const run = async (some: readonly (readonly ReadableMessage<M>[])[]) => {
      const found = new Map<Received, Fact>()
      await sideBySide(some.map(runnerOf(found)))
      // The time of the whole round has elapsed: a message that ran again now would be blamed for another's
      // time.
      if (found.size > 0 && deadline.signal.aborted) throw new RoundFailed(found)
      return found
    }
    const failed = await runInParts(lanes, { session, facts, requested, run, late })
    if (failed) context.savepoints.failed()
  } else await sideBySide(lanes.map(runLane))
  if (culprits.size === 0) return
  context.savepoints.failed()
  throw new RoundFailed(culprits)
}

/** Parts can be rolled back separately, and statements have failed recently. */
function takesParts<M, Tx>(
  session: Pick<StoreSession<Tx>, 'savepoint'>,
  { savepoints }: ConsumerContext<M, Tx>,
) {
  return savepoints.needed && session.savepoint !== undefined
}

async function sideBySide(lanes: readonly Promise<void>[]): Promise<void> {
  const ended = await Promise.allSettled(lanes)
  const broken = ended.find(end => end.status === 'rejected')
  if (broken !== undefined) throw broken.reason
}

/**
 * Runs one handler at a time, for transactions that take one statement at a time. When the round has failed
 * or has lasted long enough, the other lanes return, uncounted: the time limit is meant for concurrent
 * handlers.
 */
async function inTurn<M>(
  lanes: readonly (readonly ReadableMessage<M>[])[],
  facts: Map<Received<M>, Fact>,
  runLane: (lane: readonly ReadableMessage<M>[]) => Promise<void>,
  over: () => boolean,
): Promise<void> {
  for (const lane of lanes) {
    if (lane !== lanes[0] && over())
      for (const received of lane) facts.set(received, { kind: 'behind', leader: 'gone', delayMs: 0 })
    else await runLane(lane)
  }
}

/**
 * Unordered handlers start in the order of their aggregate, if the contract names one: concurrent processes
 * then lock its rows in the same order.
 */
function lanesOf<M, Tx>(
  due: readonly ReadableMessage<M>[],
  { consumer }: ConsumerContext<M, Tx>,
): ReadableMessage<M>[][] {
  if (consumer.order !== 'none') return [...Map.groupBy(due, received => received.lane!).values()]
  if (consumer.identity.aggregateId === undefined) return due.map(received => [received])
  const aggregate = (received: ReadableMessage<M>) => received.envelope.aggregateId ?? ''
  return due.toSorted((a, b) => (aggregate(a) < aggregate(b) ? -1 : 1)).map(received => [received])
}

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
