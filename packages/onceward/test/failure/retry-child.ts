import {
  defineConsumer,
  type Part,
  realEnvironment,
  runConsumer,
  type SourceDeclaration,
  type SqlTransaction,
} from 'onceward'
import { createPool } from 'onceward/postgres'

/** What a parent tells a process whose every message fails twice. */
export interface RetryOrders {
  readonly databaseUrl: string
  readonly rabbitmqUrl?: string
  readonly kafkaBootstrap?: string
  readonly declaration: SourceDeclaration
  readonly part: Part
}

const orders = JSON.parse(process.env.RETRY_ORDERS!) as RetryOrders
const tries = createPool(orders.databaseUrl, { max: 2 })

/** Tries are counted beside the transaction, so that those that roll back count too. */
const consumer = defineConsumer<{ id: string }, SqlTransaction>({
  name: 'rounds',
  owner: 'tests',
  risk: 'money',
  source: orders.declaration,
  identity: { id: m => m.id },
  failure: {
    mode: orders.declaration.kind === 'kafka' ? 'retry topic' : 'retry queue',
    attemptsMax: 100,
    delayMs: 100,
    delayMaxMs: 200,
    jitter: false,
    breaker: false,
  },
  inbox: { leaseMs: 1_000 },
  batch: { sizeMax: 20, deliveriesMax: 60 },
  async handle({ message, tx }) {
    const { rows } = await tries.query(
      'insert into try (id) values ($1) returning (select count(*)::int from try where id = $1) as before',
      [message.id],
    )
    await tx.query('insert into effect (id) values ($1)', [message.id])
    if (rows[0].before < 2) throw new Error('not yet')
  },
})
const running = await runConsumer(consumer, {
  databaseUrl: orders.databaseUrl,
  rabbitmqUrl: orders.rabbitmqUrl,
  kafkaBootstrap: orders.kafkaBootstrap,
  parts: [orders.part],
  relayLeaseMs: 1_000,
  env: realEnvironment(),
})
process.send!('running')
await running.finished
