import { parseArgs } from 'node:util'
import { Admin } from '@platformatic/kafka'
import { connect } from 'amqplib'
import { createPool, createQueue, migrate } from 'onceward/postgres'
import pg from 'pg'
import {
  createDatabase,
  kafkaBootstrap,
  rabbitmqUrl,
} from '../../../packages/onceward/test/services/services.ts'
import { median } from '../../median.ts'
import { handToKafka, handToPostgres, handToRabbit } from './hand-relay.ts'
import { oncewardRelay } from './onceward-relay.ts'
import { fillOutbox, handOutbox, type RelayBroker, type RelayContender } from './relay-contender.ts'

/** The relays by themselves: `node --conditions=@onceward/source bench/effects/relay/main.ts --count 20000 --rounds 3`. */
const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '3' },
    broker: { type: 'string', default: 'kafka,rabbitmq,postgres' },
  },
})
const [count, rounds] = [Number(values.count), Number(values.rounds)]
const contenders: RelayContender[] = [handToKafka, handToRabbit, handToPostgres].flatMap(hand => [
  hand,
  oncewardRelay(hand.broker),
])

const database = await createDatabase()
const pool = new pg.Pool({ connectionString: database.url, max: 2 })
const schema = createPool(database.url, { max: 1 })
await migrate(schema)
await pool.query(handOutbox)
const place = {
  databaseUrl: database.url,
  rabbitmqUrl: await rabbitmqUrl(),
  kafkaBootstrap: await kafkaBootstrap(),
}
const rabbit = await connect(place.rabbitmqUrl)
const channel = await rabbit.createChannel()
const admin = new Admin({ clientId: 'bench', bootstrapBrokers: place.kafkaBootstrap.split(','), retries: 10 })
try {
  for (const broker of values.broker.split(',') as RelayBroker[]) await measure(broker)
} finally {
  await Promise.all([pool.end(), schema.end(), rabbit.close(), admin.close()])
  await database.drop()
}

async function measure(broker: RelayBroker): Promise<void> {
  const target = `onceward.bench.relay.${process.pid}`
  if (broker === 'kafka') await admin.createTopics({ topics: [target], partitions: 4, replicas: 1 })
  if (broker === 'rabbitmq')
    await channel.assertQueue(target, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
  if (broker === 'postgres') await createQueue(schema, target)
  const rates = new Map<string, number[]>()
  for (let round = 0; round <= rounds; round++) {
    const taking = contenders.filter(one => one.broker === broker)
    for (const contender of round % 2 === 0 ? taking : taking.toReversed()) {
      await fillOutbox(pool, contender, target, round, count)
      await pool.query('checkpoint')
      const { carry, close } = await contender.open({ ...place, target })
      const cpu = process.cpuUsage()
      const began = performance.now()
      await carry(count)
      const rate = count / ((performance.now() - began) / 1_000)
      const { user, system } = process.cpuUsage(cpu)
      await close()
      await pool.query('truncate onceward.outbox, bench_outbox, onceward.queue_message')
      // The first round only warms up.
      if (round > 0) rates.set(contender.name, [...(rates.get(contender.name) ?? []), rate])
      if (round > 0)
        console.error(
          `  ${broker} ${contender.name}: ${Math.round(rate)}/s, ${((user + system) / count).toFixed(1)} us of processor time each`,
        )
    }
  }
  const [hand, ours] = ['hand-written batch relay', 'Onceward relay'].map(name => median(rates.get(name)!))
  const ratio = (ours! / hand!).toFixed(2)
  console.log(`${broker}: hand ${Math.round(hand!)}/s, Onceward ${Math.round(ours!)}/s, ${ratio} x`)
  console.log(
    `  ${JSON.stringify(Object.fromEntries([...rates].map(([name, all]) => [name, all.map(Math.round)])))}`,
  )
  if (broker === 'kafka') await admin.deleteTopics({ topics: [target] })
  if (broker === 'rabbitmq') await channel.deleteQueue(target)
}
