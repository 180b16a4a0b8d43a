import { defineConsumer, realEnvironment, runConsumer } from 'onceward'
import { poisonContract, type VictimOrders } from './poison-contract.ts'

const orders = JSON.parse(process.env.VICTIM_ORDERS!) as VictimOrders
const running = await runConsumer(defineConsumer(poisonContract(orders)), {
  databaseUrl: orders.databaseUrl,
  rabbitmqUrl: orders.urls.rabbitmq,
  rabbitmqStreamUrl: orders.urls.stream,
  kafkaBootstrap: orders.urls.kafka,
  env: realEnvironment(),
})
process.once('SIGTERM', () => void running.drain(20_000))
await running.finished
