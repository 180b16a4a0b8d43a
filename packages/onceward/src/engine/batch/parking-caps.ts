import type { Received } from '../../message/received.ts'
import type { BlockedKey } from '../../ports/key-order.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import type { Decision, Fact } from './outcome.ts'

export const fullDelayMs = 1_000

type Behind = Extract<Fact, { kind: 'behind' }>

/**
 * For a message of a parked key: it is parked behind the head or, at the limit, waits unsettled at the
 * source. Null for a released key, because workers apply the rest of it.
 */
export async function behindBlocked<M, Tx>(
  blocked: ReadonlyMap<string, BlockedKey>,
  session: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
): Promise<(key: string) => Behind | null> {
  const parked = [...blocked.values()].filter(({ released }) => !released)
  if (parked.length === 0) return () => null
  const full = await lotIsFull(session, context)
  if (full || parked.some(block => isFull(block, context))) alert(context)
  return key => {
    const block = blocked.get(key)
    if (block === undefined || block.released) return null
    if (full || isFull(block, context)) return { kind: 'behind', leader: 'retry', delayMs: fullDelayMs }
    return { kind: 'behind', leader: 'parked', delayMs: 0 }
  }
}

/**
 * Keys whose messages workers apply until none are left. Stored messages are not checked: they keep their
 * order.
 */
export function releasedKeys<M, Tx>(
  blocked: ReadonlyMap<string, BlockedKey>,
  { stage }: ConsumerContext<M, Tx>,
): readonly string[] {
  if (stage === 'enqueue') return []
  return [...blocked].filter(([, { released }]) => released).map(([key]) => key)
}

/**
 * At the limit nothing more is parked and nothing is dropped: messages wait at the source with their lanes.
 */
export async function capParking<M, Tx>(
  decisions: Map<Received<M>, Decision>,
  session: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
): Promise<void> {
  const parked = [...decisions].filter(([, { outcome }]) => outcome === 'parked')
  if (parked.every(([, { failureClass }]) => failureClass === 'order')) return
  if (!(await lotIsFull(session, context))) return
  alert(context)
  for (const [received, decision] of parked) {
    const reason = `the parking lot is full: ${decision.reason}`
    decisions.set(received, {
      ...decision,
      outcome: 'retry',
      status: null,
      reason,
      retryDelayMs: fullDelayMs,
    })
  }
}

/**
 * True if no more messages may wait for a business key, or if parking is full. A worker's message already
 * counts among those that wait.
 */
export async function keyIsFull<M, Tx>(
  waiting: number,
  parks: boolean,
  session: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
): Promise<boolean> {
  const full =
    (context.stage !== 'work' && isFull({ waiting }, context)) ||
    (parks && (await lotIsFull(session, context)))
  if (full) alert(context)
  return full
}

function isFull<M, Tx>(
  { waiting }: Pick<BlockedKey, 'waiting'>,
  { consumer }: ConsumerContext<M, Tx>,
): boolean {
  return waiting >= consumer.failure.parking.perKeyMax
}

async function lotIsFull<M, Tx>(
  session: StoreSession<Tx>,
  { consumer }: ConsumerContext<M, Tx>,
): Promise<boolean> {
  return (await session.parkedTotal()) >= consumer.failure.parking.totalMax
}

function alert<M, Tx>({ consumer, env }: ConsumerContext<M, Tx>): void {
  env.metrics.add('parkingFull', 1, { consumer: consumer.name })
  env.log.error('parking lot full: lanes wait, nothing is dropped', { consumer: consumer.name })
}
