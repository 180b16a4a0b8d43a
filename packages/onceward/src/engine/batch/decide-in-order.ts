import type { Received } from '../../message/received.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import { behindHolder, holderOf } from './business-keys.ts'
import type { ClaimedBatch } from './claim-batch.ts'
import type { Decision, Fact, Leader } from './outcome.ts'

type Order = 'none' | 'key' | 'partition'

/**
 * Decides what depends on an earlier message of the batch, in the order of the batch: within a lane that is
 * the order of arrival. A repeat depends on the first message with its id or business key. A new message
 * without a fact is behind one of its lane that did not succeed, and shares its outcome. So is a message that
 * would be stored or parked in front of an earlier one of its order key.
 */
export function decideInOrder<M, Tx>(
  batch: readonly Received<M>[],
  { repeats }: Pick<ClaimedBatch<M>, 'repeats'>,
  decisions: ReadonlyMap<Received<M>, Decision>,
  decide: (received: Received<M>, fact: Fact) => void,
  context: ConsumerContext<M, Tx>,
): void {
  const { order } = context.consumer
  const leaders = new Map<string, Decision>()
  for (const received of batch) {
    const { lane } = received
    const first = repeats.get(received)
    if (first !== undefined) decide(received, repeatFact(received, first, decisions.get(first), context))
    const leader = lane === null ? undefined : leaders.get(lane)
    const decision = decisions.get(received)
    if (decision === undefined || (order === 'key' && wouldOvertake(decision, leader)))
      decide(received, {
        kind: 'behind',
        leader: leaderState(leader, order),
        delayMs: leader?.retryDelayMs ?? 0,
      })
    const decided = decisions.get(received)!
    if (lane !== null && leaderState(decided, order) !== 'gone') leaders.set(lane, decided)
  }
}

/**
 * Its row would come before the row of an earlier message of its order key, which is tried again or is kept
 * in another state.
 */
function wouldOvertake(decision: Decision, leader: Decision | undefined): boolean {
  if (!takesPlace(decision) && decision.outcome !== 'stored') return false
  const state = leaderState(leader, 'key')
  if (state === 'parked') return !blocksKey(decision)
  return state === 'retry' || (state === 'deferred' && decision.outcome !== 'deferred')
}

/** It is kept under its order key: later messages of the key wait behind it. */
export function takesPlace(decision: Decision): boolean {
  return !decision.outOfTurn && (decision.outcome === 'deferred' || blocksKey(decision))
}

/** A key waits behind its parked message; a partition continues past a message that was set aside. */
export function leaderState(leader: Decision | undefined, order: Order): Leader {
  if (leader?.outcome === 'retry' || leader?.outcome === 'deferred') return leader.outcome
  return order === 'key' && leader !== undefined && blocksKey(leader) ? 'parked' : 'gone'
}

function blocksKey({ outcome, blocksKey }: Decision): boolean {
  return outcome === 'parked' || blocksKey
}

/**
 * A repeat inside the batch is a duplicate only if the first one will be durable. Undefined: the holder of
 * its business key comes later in the batch and is not decided yet.
 */
function repeatFact<M, Tx>(
  received: Received<M>,
  first: Received<M>,
  decision: Decision | undefined,
  context: ConsumerContext<M, Tx>,
): Fact {
  if (decision === undefined) return { kind: 'behind', leader: 'gone', delayMs: 0 }
  if (decision.outcome === 'retry') return { kind: 'behind', leader: 'retry', delayMs: decision.retryDelayMs }
  if (received.id !== first.id) return businessRepeatFact(received, first, decision, context)
  // The first one conflicts with the stored marker, so only the marker can decide the repeat: retry without
  // it.
  if (decision.code === 'conflict') return { kind: 'behind', leader: 'gone', delayMs: 0 }
  const durable = decision.outcome === 'already held' || decision.outcome === 'rerouted'
  const status = durable ? 'stored' : (decision.status ?? 'applied')
  return { kind: 'seen', status, sameDigest: received.digest.equals(first.digest) }
}

/** Behind an unfinished message it waits, and gets the key if that message ends without an effect. */
function businessRepeatFact<M, Tx>(
  received: Received<M>,
  first: Received<M>,
  decision: Decision,
  context: ConsumerContext<M, Tx>,
): Fact {
  const holder = holderOf(decision)
  if (holder === null) return { kind: 'behind', leader: 'gone', delayMs: 0 }
  if (holder === 'stored' && context.stage === 'enqueue') return { kind: 'kept' }
  if (holder !== 'used') return behindHolder(received, first.id!, holder, context)
  const [mine, its] = [received, first].map(side => (side.readable ? side.businessDigest : null))
  const sameDigest = mine == null || its == null || mine.equals(its)
  return { kind: 'business seen', byId: first.id!, sameDigest }
}
