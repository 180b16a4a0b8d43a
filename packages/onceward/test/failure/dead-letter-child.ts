import { defineConsumer, realEnvironment, reject, runConsumer, type SourceDeclaration } from 'onceward'

/** What a parent tells a process whose messages end in every way. */
export interface DeadLetterOrders {
  readonly databaseUrl: string
  readonly rabbitmqUrl?: string | undefined
  readonly kafkaBootstrap?: string | undefined
  readonly declaration: SourceDeclaration
  readonly letters: string
}

interface Message {
  readonly id: string
  readonly do: string
}

const orders = JSON.parse(process.env.DEAD_LETTER_ORDERS!) as DeadLetterOrders
const tries = new Map<string, number>()

class OrderError extends Error {}

const fail = (code: string) => {
  throw Object.assign(new OrderError(`failed with ${code}`), { code })
}

const consumer = defineConsumer<Message>({
  name: 'letters',
  owner: 'shop',
  risk: 'low value',
  source: orders.declaration,
  identity: {
    id: m => m.id,
    correlationId: { header: 'correlation' },
    schemaVersion: { header: 'version' },
  },
  message: {
    schema: {
      '~standard': {
        version: 1,
        vendor: 'tests',
        validate: value =>
          (value as Message).do === 'refuse'
            ? { issues: [{ message: 'refused by the schema' }] }
            : { value: value as Message },
      },
    },
  },
  failure: {
    attemptsMax: 3,
    delayMs: 5,
    delayMaxMs: 5,
    breaker: false,
    brake: false,
    deadLetter: { to: orders.letters, owner: 'second-line' },
  },
  handle({ message }) {
    const nth = (tries.get(message.id) ?? 0) + 1
    tries.set(message.id, nth)
    switch (message.do) {
      case 'kill':
        return process.exit(3)
      case 'reject':
        return nth < 3 ? fail(`E${nth}`) : reject('no such order')
      case 'invalid':
        return nth < 2 ? fail(`E${nth}`) : fail('22P02')
      case 'exhaust':
        return fail(`E${nth}`)
      case 'repeat':
        return fail('SAME')
    }
  },
})
const running = await runConsumer(consumer, {
  databaseUrl: orders.databaseUrl,
  rabbitmqUrl: orders.rabbitmqUrl,
  kafkaBootstrap: orders.kafkaBootstrap,
  env: realEnvironment(),
})
process.once('SIGTERM', () => void running.drain(5_000))
await running.finished
