import type { BatchItem, Effects } from '../contract/contract.ts'
import type { Loan, StoreSession } from '../contracts/store.ts'
import { OncewardError } from '../errors.ts'
import type { ReadableMessage, Received } from '../message/received.ts'
import { bufferEffects, flushEffects, type Requested } from './buffer-effects.ts'
import type { Claims } from './claim-batch.ts'
import { classifyFailure } from './classify-failure.ts'
import type { Fact } from './outcome.ts'
import type { KnownFacts, Spine } from './process-batch.ts'
import { Verdict } from './verdicts.ts'

const handled: Fact = { kind: 'handled' }

/** The round must be rolled back; these messages are why. With no one named, somebody in the batch is. */
export class RoundFailed extends Error {
  readonly culprits: ReadonlyMap<Received, Fact>
  constructor(culprits: ReadonlyMap<Received, Fact>, cause?: unknown) {
    super('round failed', { cause })
    this.culprits = culprits
  }
}

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
  const due = claims.fresh.filter(received => !facts.has(received))
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

/** Lanes side by side, each in order; a lane stops at the first message that does not get through. */
async function runEach<M, Tx>(
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

/** A handler that returned normally may still have left its transaction in a bad way. */
async function afterHandler<Tx>(loan: Loan<Tx>): Promise<Fact> {
  if (loan.pending > 0) {
    await loan.idle()
    throw new OncewardError(
      'tx_not_awaited',
      'The handler returned before a statement on `tx` was answered. Nothing was committed; await every tx.query.',
    )
  }
  if (loan.failure !== undefined) {
    throw new OncewardError(
      'tx_error_swallowed',
      'The handler caught the error of a statement on `tx` and went on, but PostgreSQL has aborted the transaction. Nothing was committed; let the error through, or avoid it (on conflict do nothing).',
      { cause: loan.failure },
    )
  }
  return handled
}

async function runTogether<M, Tx>(
  due: readonly ReadableMessage<M>[],
  facts: Map<Received<M>, Fact>,
  requested: Requested<M>,
  session: StoreSession<Tx>,
  spine: Spine<M, Tx>,
  deadline: Deadline,
): Promise<void> {
  const { consumer, mode, world } = spine
  const loan = session.lend()
  const items = due.map(received => new Item(received, requested, spine))
  try {
    const call = consumer.handleBatch!({
      batch: items,
      tx: loan.tx,
      mode,
      signal: deadline.signal,
      log: world.log,
    })
    const verdicts = await Promise.race([call, deadline.passed])
    await afterHandler(loan)
    items.forEach((item, index) => {
      const verdict = verdicts?.get(item)
      facts.set(due[index]!, verdict === undefined ? handled : { kind: 'verdict', verdict })
    })
  } catch (error) {
    throw loan.failure !== undefined && spine.store.diagnose(loan.failure) !== 'statement'
      ? loan.failure
      : unattributed(due, error, spine)
  } finally {
    loan.revoke()
  }
}

class Item<M, Tx> implements BatchItem<M> {
  readonly message: M
  readonly envelope
  #received: ReadableMessage<M>
  #requested: Requested<M>
  #spine: Spine<M, Tx>
  #effects: Effects | null = null

  constructor(received: ReadableMessage<M>, requested: Requested<M>, spine: Spine<M, Tx>) {
    this.message = received.message
    this.envelope = received.envelope
    this.#received = received
    this.#requested = requested
    this.#spine = spine
  }

  get effects(): Effects {
    this.#effects ??= bufferEffects(this.#received, this.#requested, this.#spine)
    return this.#effects
  }
}

/** Alone in the batch, a message is to blame for what its batch handler threw. */
function unattributed<M, Tx>(
  due: readonly ReadableMessage<M>[],
  error: unknown,
  spine: Spine<M, Tx>,
): RoundFailed {
  if (due.length > 1) return new RoundFailed(new Map(), error)
  return new RoundFailed(new Map([[due[0]!, factOfError(error, spine)]]), error)
}

function factOfError<M, Tx>(error: unknown, spine: Spine<M, Tx>): Fact {
  if (error instanceof Verdict) return { kind: 'verdict', verdict: error }
  return { kind: 'failed', failure: classifyFailure(error, spine.consumer.failure.classes) }
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

interface Deadline {
  readonly signal: AbortSignal
  /** Rejects when the handlers have run too long, or the process must leave. */
  readonly passed: Promise<never>
  cancel(): void
}

function handlerDeadline<M, Tx>(spine: Spine<M, Tx>): Deadline {
  const { handlerTimeoutMs } = spine.consumer.batch
  const controller = new AbortController()
  const { promise, reject } = Promise.withResolvers<never>()
  promise.catch(() => {})
  const end = (error: Error) => {
    controller.abort(error)
    reject(error)
  }
  const cancelTimer = spine.world.timers.after(handlerTimeoutMs, () =>
    end(
      new OncewardError(
        'handler_timeout',
        `The handler did not return within ${handlerTimeoutMs} ms. Its transaction was rolled back; nothing was settled.`,
      ),
    ),
  )
  const onStop = () => end(new OncewardError('consumer_halted', 'The consumer was told to leave at once.'))
  spine.signal.addEventListener('abort', onStop, { once: true })
  return {
    signal: controller.signal,
    passed: promise,
    cancel() {
      cancelTimer()
      spine.signal.removeEventListener('abort', onStop)
    },
  }
}
