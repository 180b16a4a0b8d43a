import type { ReadableMessage, Received } from '../../message/received.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { Requested } from './buffer-effects.ts'
import type { Fact } from './outcome.ts'

type Lane<M> = readonly ReadableMessage<M>[]

/**
 * Lanes that are rolled back together. Smaller parts waste fewer repeats, larger ones need fewer savepoints.
 */
const partLanes = 32
/** After this many repeats of a part, its lanes run one at a time. */
const repeatsMax = 4

/** Batches after a failed statement that run in parts, each with a savepoint. */
const cautiousBatches = 20

/** A savepoint costs a statement, so savepoints are set only while statements have failed recently. */
export class SavepointPolicy {
  #left = 0

  get needed(): boolean {
    return this.#left > 0
  }

  failed(): void {
    this.#left = cautiousBatches
  }

  committed(): void {
    if (this.#left > 0) this.#left--
  }
}

export interface PartsRun<M, Tx> {
  readonly session: StoreSession<Tx>
  readonly facts: Map<Received<M>, Fact>
  readonly requested: Requested<M>
  /** Runs lanes concurrently; returns the messages whose writes can only be rolled back. */
  run(lanes: readonly Lane<M>[]): Promise<ReadonlyMap<Received, Fact>>
  /** The batch has lasted long enough: the rest returns. */
  late(): boolean
}

/**
 * While statements fail now and then, rolling back the whole batch for each failure costs more than the work:
 * after the first failure the server refuses every statement, so a round finds one culprit. Here a part is
 * rolled back to its savepoint and run again without the failed message; earlier parts stay. Returns whether
 * any message failed.
 */
export async function runInParts<M, Tx>(lanes: readonly Lane<M>[], parts: PartsRun<M, Tx>): Promise<boolean> {
  let failed = false
  for (let at = 0; at < lanes.length; at += partLanes) {
    const part = lanes.slice(at, at + partLanes)
    if (at > 0 && parts.late()) giveBack(part, parts)
    else if (await runPart(part, parts)) failed = true
  }
  return failed
}

async function runPart<M, Tx>(part: readonly Lane<M>[], parts: PartsRun<M, Tx>): Promise<boolean> {
  let open = part
  for (let repeats = 0; repeats < repeatsMax; repeats++) {
    const culprits = await tryOnce(open, parts)
    if (culprits.size === 0) return repeats > 0
    open = open.map(lane => upTo(lane, culprits)).filter(lane => lane.length > 0)
    if (open.length === 0) return true
  }
  for (const lane of open) await runLane(lane, parts)
  return true
}

async function runLane<M, Tx>(lane: Lane<M>, parts: PartsRun<M, Tx>): Promise<void> {
  for (let open = lane; open.length > 0; ) {
    const culprits = await tryOnce([open], parts)
    if (culprits.size === 0) return
    open = upTo(open, culprits)
  }
}

async function tryOnce<M, Tx>(
  lanes: readonly Lane<M>[],
  parts: PartsRun<M, Tx>,
): Promise<ReadonlyMap<Received, Fact>> {
  const point = parts.session.savepoint!()
  const culprits = await parts.run(lanes)
  if (culprits.size === 0) {
    point.keep()
    return culprits
  }
  await point.undo()
  const undone = new Set<Received<M>>(lanes.flat())
  for (const received of undone) {
    const fact = culprits.get(received)
    if (fact === undefined) parts.facts.delete(received)
    else parts.facts.set(received, fact)
  }
  const { intents, messages, calls, evidence } = parts.requested
  for (const list of [intents, messages, calls, evidence]) {
    const kept = list.filter(({ received }) => !undone.has(received))
    list.splice(0, list.length, ...(kept as never[]))
  }
  return culprits
}

/** The messages before a culprit run again; the rest of its lane waits behind it. */
function upTo<M>(lane: Lane<M>, culprits: ReadonlyMap<Received, Fact>): Lane<M> {
  const end = lane.findIndex(received => culprits.has(received))
  return end === -1 ? lane : lane.slice(0, end)
}

function giveBack<M, Tx>(part: readonly Lane<M>[], { facts }: PartsRun<M, Tx>): void {
  for (const received of part.flat()) facts.set(received, { kind: 'behind', leader: 'gone', delayMs: 0 })
}
