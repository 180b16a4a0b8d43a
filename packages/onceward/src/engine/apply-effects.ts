import type { StoreSession } from '../contracts/store.ts'
import type { ReadableMessage, Received } from '../message/received.ts'
import { flushEffects, type Requested } from './buffer-effects.ts'
import type { Claims } from './claim-batch.ts'
import { handlerDeadline } from './handler-deadline.ts'
import { type Fact, stopsLane } from './outcome.ts'
import type { KnownFacts, Spine } from './process-batch.ts'
import { runEach } from './run-each.ts'
import { runTogether } from './run-together.ts'

/** Runs the handlers of the fresh messages on the open transaction and records the effects they asked for. */
export async function applyEffects<M, Tx>(
  claims: Claims<M>,
  known: KnownFacts,
  session: StoreSession<Tx>,
  spine: Spine<M, Tx>,
): Promise<Map<Received<M>, Fact>> {
  const facts = new Map<Received<M>, Fact>(claims.facts)
  for (const received of claims.fresh) {
    const fact = known.get(received)
    if (fact !== undefined) facts.set(received, fact)
  }
  const due = dueMessages(claims.fresh, facts)
  if (due.length === 0) return facts

  const began = spine.world.clock.nowMs()
  const requested: Requested<M> = []
  const deadline = handlerDeadline(spine)
  try {
    if (spine.consumer.handleBatch === undefined)
      await runEach(due, facts, requested, session, spine, deadline)
    else await runTogether(due, facts, requested, session, spine, deadline)
  } finally {
    deadline.cancel()
  }
  spine.world.metrics.applySeconds(spine.consumer.name, (spine.world.clock.nowMs() - began) / 1000)
  if (requested.length > 0) await flushEffects(requested, facts, session, spine)
  return facts
}

/** Without a fact yet, and not behind a message of its order key that did not get through. */
function dueMessages<M>(
  fresh: readonly ReadableMessage<M>[],
  facts: ReadonlyMap<Received<M>, Fact>,
): ReadableMessage<M>[] {
  const stopped = new Set<string>()
  return fresh.filter(received => {
    const fact = facts.get(received)
    const { orderKey } = received.envelope
    if (fact !== undefined && orderKey !== null && stopsLane(fact)) stopped.add(orderKey)
    return fact === undefined && (orderKey === null || !stopped.has(orderKey))
  })
}
