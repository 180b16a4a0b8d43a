import type { SourceDeclaration } from '../contract/contract.ts'
import { OncewardError } from '../errors.ts'
import { addressMissing, type Broker, type BrokerAccess, loaded } from './broker.ts'

const door = () => loaded(import('../sources/rabbitmq/index.ts'), 'RabbitMQ', 'amqplib')

export async function openRabbit(
  declaration: SourceDeclaration,
  { rabbitmqUrl, world }: BrokerAccess,
): Promise<Broker> {
  const url = (declaration as { url?: string }).url ?? rabbitmqUrl
  if (url === undefined) throw addressMissing('RabbitMQ', 'ONCEWARD_RABBITMQ_URL')
  const rabbit = await door()
  return {
    source: rabbit.createRabbitSource(declaration as never, { url, log: world.log }),
    ...lettersTo(rabbit, url),
  }
}

/** The way to a dead-letter queue for a source that has no queues of its own. */
export async function openRabbitLetters({ rabbitmqUrl }: BrokerAccess): Promise<Omit<Broker, 'source'>> {
  if (rabbitmqUrl === undefined) {
    throw new OncewardError(
      'configuration',
      'The contract sends dead letters to a queue of RabbitMQ, but no address is known. Set ONCEWARD_RABBITMQ_URL. Nothing was started.',
    )
  }
  return lettersTo(await door(), rabbitmqUrl)
}

function lettersTo(rabbit: Awaited<ReturnType<typeof door>>, url: string): Omit<Broker, 'source'> {
  return {
    ensureQueue: name => rabbit.ensureDeadLetterQueue(url, name),
    openPublisher: async () => rabbit.createRabbitPublisher({ url }),
  }
}
