import type { Consumer } from '../contract/define-consumer.ts'
import type { SqlTransaction } from '../contract/handler.ts'
import { type Addressing, deadLetterBroker } from '../engine/consumer/consumer-facts.ts'
import { addressingOf, openOutlets, outletKinds } from './consumer-outlets.ts'
import { LearnedLimits, topicsOf } from './learned-limits.ts'
import { assertAddresses } from './open-publisher.ts'
import { openConsumerRelays, type RelayHandle, type RelaySetting } from './open-relays.ts'
import type { Broker } from './open-source.ts'
import type { Outlet } from './outlet.ts'

export interface OutgoingParts {
  readonly addressing: Addressing
  readonly relays: readonly RelayHandle[]
}

/** Determines the destinations before the consumer writes messages, and opens the relays of this process. */
export async function openOutgoing<M>(
  consumer: Consumer<M, SqlTransaction>,
  source: Broker,
  setting: RelaySetting,
  parts: ReadonlySet<string>,
): Promise<OutgoingParts> {
  const relays = parts.has('relay')
  if (relays) await prepare(consumer, source, setting)
  const writes = relays || parts.has('consumer') || parts.has('worker')
  const outlets = writes ? await openOutlets(consumer, source, setting) : []
  try {
    const known = await addressingOf(writes ? consumer : null, outlets, setting.pool, source.virtualHost)
    const limits =
      parts.has('consumer') || parts.has('worker') ? limitsOf(consumer, outlets, !relays, setting) : null
    const addressing = limits === null ? known : { ...known, topicLimits: limits }
    const carriers = limits === null ? [] : [limits]
    if (relays) {
      const onRefused = () => limits?.doubt()
      const opened = await openConsumerRelays(consumer, outlets, { ...setting, onRefused })
      return { addressing, relays: [...carriers, ...opened] }
    }
    await Promise.all(outlets.map(outlet => (limits?.isOf(outlet) === true ? undefined : outlet.close())))
    return { addressing, relays: carriers }
  } catch (error) {
    await Promise.all(outlets.map(outlet => outlet.close()))
    throw error
  }
}

function limitsOf<M>(
  consumer: Consumer<M, SqlTransaction>,
  outlets: readonly Outlet[],
  owned: boolean,
  { env }: RelaySetting,
): LearnedLimits | null {
  const outlet = outlets.find(({ kind }) => kind === 'kafka')
  const topics = outlet === undefined ? [] : topicsOf(consumer, outlet)
  return topics.length === 0 ? null : new LearnedLimits({ outlet: outlet!, topics, owned, env })
}

async function prepare<M>(
  consumer: Consumer<M, SqlTransaction>,
  source: Broker,
  setting: RelaySetting,
): Promise<void> {
  const own = deadLetterBroker(consumer.source)
  const others = [...outletKinds(consumer)].filter(kind => kind !== own)
  assertAddresses(others, setting, `Consumer "${consumer.name}" publishes`)
  const { deadLetter } = consumer.failure
  if (deadLetter !== null) await source.ensureQueue(deadLetter)
}
