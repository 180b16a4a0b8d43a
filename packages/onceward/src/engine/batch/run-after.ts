import type { AfterContext } from '../../contract/declared-effect.ts'
import type { ReadableMessage, Received } from '../../message/received.ts'
import type { HandlerTransaction } from '../../ports/handler-transaction.ts'
import { factOfError, handled, RoundFailed } from './handler-result.ts'
import { type Fact, isApplied } from './outcome.ts'
import { type CallContext, type CallHandle, callInOrder, type HandlerRound } from './run-each.ts'

/** A message that a declared effect changed something for. */
export interface AppliedMessage<M> {
  readonly received: ReadableMessage<M>
  /** What it changed. The calls for one entity follow each other in the order of the reports. */
  readonly entity: string
  readonly result: object
}

/**
 * Calls `after` of a declared effect for each message it applied: one at a time per lane and entity, the
 * others concurrently. A message whose call failed leaves the batch: the round is rolled back and runs
 * again without it, so that the declared effect on it is undone as well.
 */
export async function runAfter<M, Tx>(
  applied: readonly AppliedMessage<M>[],
  facts: Map<Received<M>, Fact>,
  round: HandlerRound<M, Tx>,
): Promise<void> {
  const { consumer, store, savepoints } = round.context
  const due = applied.filter(({ received }) => isApplied(facts.get(received)))
  const chains = Map.groupBy(due, ({ received, entity }) => received.lane ?? entity).values()
  const culprits = new Map<Received, Fact>()
  const endChain = async (chain: readonly AppliedMessage<M>[]): Promise<boolean> => {
    for (const { received, result } of chain) {
      if (round.deadline.signal.aborted) return false
      const call = (given: CallContext<M>, { sql }: HandlerTransaction<Tx>) =>
        consumer.effect!.apply!.after!({ ...given, tx: sql!, result } as AfterContext<M, never>)
      const fact = await factOfCall(received, call, round)
      if (!isApplied(fact)) {
        if (fact.kind !== 'behind') culprits.set(received, fact)
        return false
      }
      if (fact.kind === 'verdict') facts.set(received, fact)
    }
    return true
  }
  const ended = store.capabilities.concurrent
    ? await sideBySide([...chains].map(endChain))
    : await inTurn([...chains], endChain)
  if (ended) return
  const { aborted, reason } = round.deadline.signal
  // No call was running when the time had elapsed: only a message that is alone can be blamed.
  if (culprits.size === 0 && aborted && due.length === 1)
    culprits.set(due[0]!.received, factOfError(reason, round.context))
  savepoints.failed()
  throw new RoundFailed(culprits, reason)
}

async function factOfCall<M, Tx>(
  received: ReadableMessage<M>,
  call: CallHandle<M, Tx>,
  round: HandlerRound<M, Tx>,
): Promise<Fact> {
  let fact: Fact = handled
  const ended = (call: { readonly fact: Fact }) => {
    fact = call.fact
    return false
  }
  await callInOrder([received], call, round, { isLate: () => false, ended })
  return fact
}

async function sideBySide(chains: readonly Promise<boolean>[]): Promise<boolean> {
  const results = await Promise.allSettled(chains)
  const broken = results.find(result => result.status === 'rejected')
  if (broken !== undefined) throw broken.reason
  return results.every(result => result.status === 'fulfilled' && result.value)
}

async function inTurn<C>(chains: readonly C[], end: (chain: C) => Promise<boolean>): Promise<boolean> {
  for (const chain of chains) if (!(await end(chain))) return false
  return true
}
