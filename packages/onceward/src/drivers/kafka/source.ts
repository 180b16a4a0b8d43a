import { setTimeout as sleep } from 'node:timers/promises'
import { type Log, silent } from '../../environment.ts'
import { OncewardError } from '../../errors.ts'
import type { OpenOptions, Source, Subscription } from '../../ports/source.ts'
import type { KafkaClient, TopicFacts } from './client/kafka-client.ts'
import { toOncewardError } from './client/kafka-error.ts'
import { WireClient } from './client/wire-client.ts'
import { KafkaDriver } from './kafka-driver.ts'
import { settingsOf, type TopicDeclaration } from './topic.ts'

/** Where and how a source connects to Kafka. */
export interface KafkaSourceOptions {
  /** Used when the declaration names no address. */
  readonly bootstrap?: string
  /** Default silent. */
  readonly log?: Log
  /** Aborts an `open` that is still trying to reach the broker. */
  readonly signal?: AbortSignal
}

const reconnectDelayMs = 500

/** A Kafka topic as a source. It connects in `open`. */
export function createKafkaSource(declaration: TopicDeclaration, options: KafkaSourceOptions = {}): Source {
  const name = `kafka topic ${declaration.topic}`
  return {
    name,
    capabilities: {
      order: { key: true, partition: true },
      ordersByDeliveryKey: true,
      positions: true,
      deliveryCount: false,
      redelivers: true,
    },
    open: openOptions => openTopic(declaration, options, openOptions),
  }
}

async function openTopic(
  declaration: TopicDeclaration,
  { bootstrap, log = silent, signal }: KafkaSourceOptions,
  open: OpenOptions,
): Promise<Subscription> {
  const settings = settingsOf(declaration, open.log.consumer)
  const { tls, sasl } = declaration
  const client = new WireClient(
    {
      bootstrap: declaration.bootstrap ?? bootstrap ?? '',
      clientId: `onceward-${open.log.consumer.name}`,
      ...(tls !== undefined && { tls }),
      ...(sasl !== undefined && { sasl }),
    },
    settings,
  )
  try {
    const { partitions, cluster } = await reach(client, settings.topic, log, signal)
    if (cluster !== undefined) await open.onBroker?.({ kind: 'kafka', cluster })
    return new KafkaDriver({ client, settings, open, log, partitions }).subscription
  } catch (error) {
    await client.close()
    throw error
  }
}

/** Retries while no broker is available; throws on errors that a retry cannot fix. */
async function reach(
  client: KafkaClient,
  topic: string,
  log: Log,
  signal: AbortSignal | undefined,
): Promise<TopicFacts> {
  for (;;) {
    try {
      await client.check()
      const facts = await client.describe()
      if (facts !== null) return facts
      throw new OncewardError(
        'configuration',
        `Topic ${topic} does not exist on this cluster, or this user is not allowed to see it. Nothing was read or committed. Create the topic, or correct its name.`,
        { details: { topic } },
      )
    } catch (error) {
      const known = toOncewardError(error, `Opening topic ${topic}`, 'Nothing was read or committed.')
      if (known.code !== 'broker_unreachable' || signal?.aborted) throw known
      log.warn('Kafka is not reachable yet', { reason: known.message })
      await sleep(reconnectDelayMs, undefined, signal === undefined ? {} : { signal }).catch(() => {})
      if (signal?.aborted) throw known
    }
  }
}
