import { OncewardError } from '../errors.ts'

/** Loads the client of a broker on first use. */
export function importRabbit() {
  return import('../drivers/rabbitmq/index.ts').catch(cause => {
    throw new OncewardError(
      'configuration',
      'RabbitMQ queues are needed, but amqplib is not installed. Run "npm install amqplib". Nothing was started.',
      { cause },
    )
  })
}

export function importKafka() {
  return import('../drivers/kafka/index.ts').catch(cause => {
    throw new OncewardError(
      'configuration',
      'Kafka is needed, but @platformatic/kafka is not installed. Run "npm install @platformatic/kafka@2". Nothing was started.',
      { cause },
    )
  })
}
