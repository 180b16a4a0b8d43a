import type { EffectContext } from '../../contract/declared-effect.ts'
import type { BatchItem, Envelope } from '../../contract/handler.ts'
import type { ReadableMessage, Received } from '../../message/received.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import { bufferEffects, type ClosableEffects, type Requested } from './buffer-effects.ts'
import type { Deadline } from './handler-deadline.ts'
import { handlerEnvelope } from './handler-envelope.ts'
import { checkTransaction, factOfError, handled, handlerTrouble, RoundFailed } from './handler-result.ts'
import { type Fact, stopsLane } from './outcome.ts'
import type { AppliedMessage } from './run-after.ts'
import { lostLeases } from './stored-mode.ts'

/**
 * Calls `handleBatch` once, with one handler transaction. Verdicts are per item; an exception names no
 * message, unless the item was alone. Returns the messages whose declared effect is followed by `after`.
 */
export async function runTogether<M, Tx>(
  due: readonly ReadableMessage<M>[],
  facts: Map<Received<M>, Fact>,
  requested: Requested<M>,
  session: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
  deadline: Deadline,
): Promise<readonly AppliedMessage<M>[]> {
  const { consumer, mode, env } = context
  const declared = consumer.effect?.apply
  const handlerTx = session.handlerTransaction(false)
  const shared: ItemCall<M, Tx> = { requested, session, context, closed: false, effects: [] }
  const items = due.map(received => new Item(received, shared))
  const applied: AppliedMessage<M>[] = []
  let cut: Error | undefined
  try {
    const call = consumer.handleBatch!({
      batch: items,
      tx: declared === undefined ? handlerTx.tx : (handlerTx.sql as Tx),
      mode,
      signal: deadline.signal,
      log: env.log,
      ...(declared?.after && { report: reporter(due, items, applied) }),
    })
    const verdicts = await deadline.within(call)
    const mistake = checkTransaction(handlerTx)
    if (mistake !== null) await mistake
    if (verdicts == null || verdicts.size === 0) {
      for (const received of due) facts.set(received, handled)
      return applied
    }
    items.forEach((item, index) => {
      const verdict = verdicts.get(item)
      facts.set(due[index]!, verdict === undefined ? handled : { kind: 'verdict', verdict })
    })
    const overtaken = overtakenLeaders(due, facts)
    if (overtaken.size > 0) throw new RoundFailed(overtaken)
    return applied
  } catch (error) {
    cut = deadline.cutBy(error)
    if (context.signal.aborted || error instanceof RoundFailed || lostLeases(error) !== null) throw error
    throw handlerTx.failure !== undefined && handlerTrouble(handlerTx.failure, context) !== 'statement'
      ? handlerTx.failure
      : unattributed(due, error, context)
  } finally {
    handlerTx.revoke(cut)
    shared.closed = true
    shared.cut = cut
    for (const effects of shared.effects) effects.close(cut)
  }
}

function reporter<M>(
  due: readonly ReadableMessage<M>[],
  items: readonly BatchItem<M>[],
  applied: AppliedMessage<M>[],
): EffectContext<M>['report'] {
  const places = new Map(items.map((item, index) => [item, due[index]!]))
  return (item, entity, result) => void applied.push({ received: places.get(item)!, entity, result })
}

/** With order: verdicts that stop a lane although the same call already applied later messages of it. */
function overtakenLeaders<M>(
  due: readonly ReadableMessage<M>[],
  facts: ReadonlyMap<Received<M>, Fact>,
): Map<Received, Fact> {
  const leaders = new Map<string, ReadableMessage<M>>()
  const overtaken = new Map<Received, Fact>()
  for (const received of due) {
    const { lane } = received
    if (lane === null) continue
    const leader = leaders.get(lane)
    if (leader !== undefined) overtaken.set(leader, facts.get(leader)!)
    else if (stopsLane(facts.get(received)!)) leaders.set(lane, received)
  }
  return overtaken
}

/** Shared by the items of one call. */
interface ItemCall<M, Tx> {
  readonly requested: Requested<M>
  readonly session: StoreSession<Tx>
  readonly context: ConsumerContext<M, Tx>
  closed: boolean
  cut?: Error | undefined
  /** Of the items whose `effects` were read. */
  readonly effects: ClosableEffects[]
}

class Item<M, Tx> implements BatchItem<M> {
  readonly message: M
  readonly #received: ReadableMessage<M>
  readonly #call: ItemCall<M, Tx>
  #effects: ClosableEffects | null = null
  #envelope: Envelope | null = null

  constructor(received: ReadableMessage<M>, call: ItemCall<M, Tx>) {
    this.message = received.message
    this.#received = received
    this.#call = call
  }

  get envelope(): Envelope {
    this.#envelope ??= handlerEnvelope(this.#received, this.#call.context)
    return this.#envelope
  }

  get waited(): 'released' | 'too late' | null {
    return this.#received.delivery.held?.waited ?? null
  }

  get run(): number {
    return this.#call.context.enrolment.runId
  }

  /** Created on first use; after the handler has returned, it is closed from the start. */
  get effects(): ClosableEffects {
    if (this.#effects !== null) return this.#effects
    const { requested, session, context, closed, cut, effects } = this.#call
    this.#effects = bufferEffects(this.#received, requested, session, context)
    effects.push(this.#effects)
    if (closed) this.#effects.close(cut)
    return this.#effects
  }
}

/** A message alone in its batch is the cause of what its batch handler throws. */
function unattributed<M, Tx>(
  due: readonly ReadableMessage<M>[],
  error: unknown,
  context: ConsumerContext<M, Tx>,
): RoundFailed {
  if (due.length > 1) return new RoundFailed(new Map(), error)
  return new RoundFailed(new Map([[due[0]!, factOfError(error, context)]]), error)
}
