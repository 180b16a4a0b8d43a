import { OncewardError } from 'onceward'
import type { DemoBroker, ServerAddresses } from './settings.ts'

interface Service {
  readonly url?: string
  readonly streamUrl?: string
  readonly unavailable?: string
}

const needed = { postgres: null, rabbitmq: 'rabbitmq', stream: 'rabbitmq', kafka: 'kafka' } as const

const advice = {
  rabbitmq:
    'RabbitMQ, but {found}. Set ONCEWARD_RABBITMQ_URL (amqp://user:password@host:5672), and for streams ONCEWARD_RABBITMQ_STREAM_URL (rabbitmq-stream://user:password@host:5552)',
  kafka: 'Kafka, but {found}. Set ONCEWARD_KAFKA_BOOTSTRAP (host:9092)',
}

/** From the environment, or from the repository's own services. */
export async function findServers(broker: DemoBroker, say: (line: string) => void): Promise<ServerAddresses> {
  const name = needed[broker]
  const given: ServerAddresses = {
    rabbitmqUrl: process.env.ONCEWARD_RABBITMQ_URL ?? null,
    rabbitmqStreamUrl: process.env.ONCEWARD_RABBITMQ_STREAM_URL ?? null,
    kafkaBootstrap: process.env.ONCEWARD_KAFKA_BOOTSTRAP ?? null,
  }
  if (name === null || isEnough(broker, given)) return given
  const { url, streamUrl, unavailable } = await startService(name, say)
  const found: ServerAddresses =
    name === 'kafka'
      ? { ...given, kafkaBootstrap: url ?? null }
      : { ...given, rabbitmqUrl: url ?? null, rabbitmqStreamUrl: streamUrl ?? null }
  if (isEnough(broker, found)) return found
  const problem = unavailable ?? 'no address is known'
  throw new OncewardError(
    'configuration',
    `The demo needs ${advice[name].replace('{found}', problem)}, or leave out --broker to use the embedded one. Nothing was started.`,
  )
}

function isEnough(broker: DemoBroker, found: ServerAddresses): boolean {
  if (broker === 'kafka') return found.kafkaBootstrap !== null
  return found.rabbitmqUrl !== null && (broker === 'rabbitmq' || found.rabbitmqStreamUrl !== null)
}

async function startService(name: 'rabbitmq' | 'kafka', say: (line: string) => void): Promise<Service> {
  const { ensureServices } = await import('../../scripts/services/services.ts')
  const [service] = await ensureServices([name], { log: say })
  if (!('unavailable' in service!)) return service!
  return { unavailable: `it cannot be started here: ${service.unavailable}` }
}
