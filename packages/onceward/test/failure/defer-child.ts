import {
  defineConsumer,
  realEnvironment,
  retryAfter,
  runConsumer,
  type SourceDeclaration,
  type SqlTransaction,
} from 'onceward'

/** What a parent tells a consumer that fails now and then. */
export interface DeferOrders {
  readonly databaseUrl: string
  readonly rabbitmqUrl: string
  readonly kafkaBootstrap: string
  readonly declaration: SourceDeclaration
}

export interface Step {
  readonly id: string
  readonly key: string
}

const orders = JSON.parse(process.env.DEFER_ORDERS!) as DeferOrders

/** One in seven tries fails, each in one of three ways. */
const consumer = defineConsumer<Step, SqlTransaction>({
  name: 'steps',
  owner: 'tests',
  risk: 'projection',
  source: orders.declaration,
  order: 'key',
  identity: { id: m => m.id, orderKey: m => m.key },
  failure: { mode: 'defer', attemptsMax: 1_000, delayMs: 5, delayMaxMs: 40 },
  inbox: { leaseMs: 1_000 },
  batch: { sizeMax: 20, deliveriesMax: 60 },
  async handle({ message, tx }) {
    const lot = Math.floor(Math.random() * 21)
    if (lot === 0) return retryAfter(10)
    if (lot === 1) throw new Error('before it wrote')
    await tx.query('insert into step (key, id) values ($1, $2)', [message.key, message.id])
    if (lot === 2) await tx.query("do $$ begin raise exception 'after it wrote'; end $$")
    return undefined
  },
})
const running = await runConsumer(consumer, {
  databaseUrl: orders.databaseUrl,
  rabbitmqUrl: orders.rabbitmqUrl,
  kafkaBootstrap: orders.kafkaBootstrap,
  env: realEnvironment(),
})
process.once('SIGTERM', () => void running.drain(20_000))
process.send!('running')
await running.finished
process.disconnect()
