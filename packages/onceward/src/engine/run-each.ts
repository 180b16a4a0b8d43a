import type { StoreSession } from '../contracts/store.ts'
import type { ReadableMessage, Received } from '../message/received.ts'
import { bufferEffects, type Requested } from './buffer-effects.ts'
import type { Deadline } from './handler-deadline.ts'
import { afterHandler, factOfError, RoundFailed } from './handler-result.ts'
import type { Fact } from './outcome.ts'
import type { Spine } from './process-batch.ts'
import { Verdict } from './verdicts.ts'

/** Lanes side by side, each in order; a lane stops at the first message that does not get through. */
export async function runEach<M, Tx>(
  due: readonly ReadableMessage<M>[],
  facts: Map<Received<M>, Fact>,
  requested: Requested<M>,
  session: StoreSession<Tx>,
  spine: Spine<M, Tx>,
  deadline: Deadline,
): Promise<void> {
  const culprits = new Map<Received, Fact>()
  const lanes = spine.consumer.order === 'key' ? groupByOrderKey(due, facts) : due.map(received => [received])
  const ended = await Promise.allSettled(
    lanes.map(async lane => {
      for (const received of lane) {
        if (facts.has(received)) continue
        const fact = await runOne(received, requested, session, spine, deadline, culprits)
        facts.set(received, fact)
        if (fact.kind !== 'handled' && !(fact.kind === 'verdict' && fact.verdict.kind === 'ignore')) return
      }
    }),
  )
  const broken = ended.find(end => end.status === 'rejected')
  if (broken !== undefined) throw broken.reason
  if (culprits.size > 0) throw new RoundFailed(culprits)
}

async function runOne<M, Tx>(
  received: ReadableMessage<M>,
  requested: Requested<M>,
  session: StoreSession<Tx>,
  spine: Spine<M, Tx>,
  deadline: Deadline,
  culprits: Map<Received, Fact>,
): Promise<Fact> {
  const { consumer, store, mode, world } = spine
  const loan = session.lend()
  const effects = bufferEffects(received, requested, spine)
  let fact: Fact
  try {
    const { message, envelope } = received
    const call = consumer.handle!({
      message,
      envelope,
      tx: loan.tx,
      effects,
      mode,
      signal: deadline.signal,
      log: world.log,
    })
    const verdict = await Promise.race([call, deadline.passed])
    fact = verdict instanceof Verdict ? { kind: 'verdict', verdict } : await afterHandler(loan)
  } catch (error) {
    if (spine.signal.aborted) throw error
    if (loan.failure !== undefined) {
      const trouble = store.diagnose(loan.failure)
      if (trouble === 'victim') return { kind: 'behind', leader: 'gone', delayMs: 0 }
      if (trouble !== 'statement' && trouble !== 'configuration') throw loan.failure
    }
    fact = factOfError(error, spine)
  } finally {
    loan.revoke()
  }
  if (fact.kind !== 'handled' && loan.used) culprits.set(received, fact)
  return fact
}

function groupByOrderKey<M>(due: readonly ReadableMessage<M>[], facts: Map<Received<M>, Fact>) {
  const stopped = new Set<string>()
  for (const [received, fact] of facts) {
    if (received.readable && (fact.kind === 'failed' || fact.kind === 'verdict'))
      stopped.add(received.envelope.orderKey!)
  }
  const lanes = new Map<string, ReadableMessage<M>[]>()
  for (const received of due) {
    const key = received.envelope.orderKey!
    if (stopped.has(key)) continue
    const lane = lanes.get(key)
    if (lane === undefined) lanes.set(key, [received])
    else lane.push(received)
  }
  return [...lanes.values()]
}
