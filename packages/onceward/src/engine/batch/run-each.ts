import type { HandlerContext } from '../../contract/handler.ts'
import type { ReadableMessage, Received } from '../../message/received.ts'
import type { HandlerTransaction } from '../../ports/handler-transaction.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import type { Requested } from './buffer-effects.ts'
import { type CallContext, type CallObserver, callInOrder } from './call-handler.ts'
import type { Deadline } from './handler-deadline.ts'
import { RoundFailed } from './handler-result.ts'
import { type Fact, isApplied, stopsLane } from './outcome.ts'
import { runInParts } from './savepoint-policy.ts'

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
