import { Kafka, logLevel } from 'kafkajs'
import pg from 'pg'
import { applyOne } from '../contenders/textbook.ts'
import { openKafkaLogs } from '../logs/kafka.ts'
import { evenPartitions } from '../logs/partition-of.ts'
import type { Load } from '../workload.ts'
import { handlerConnections, type Peer, type PeerPlace } from './peer.ts'

export async function fillTopic({ kafkaBootstrap, queue }: PeerPlace, load: Load): Promise<void> {
  const logs = openKafkaLogs(kafkaBootstrap!)
  await logs.fill(queue, evenPartitions, load)
  await logs.close()
}

export const kafkajs: Peer = {
  name: 'KafkaJS, textbook inbox',
  reads: 'kafka',
  packageName: 'kafkajs',
  configuration:
    `eachMessage, partitionsConsumedConcurrently ${evenPartitions} of ${evenPartitions} partitions, ` +
    `sessionTimeout 10 s, ${handlerConnections} connections, one transaction a message (marker, update)`,
  storesIds: true,
  handlesBatches: false,
  fill: fillTopic,
  async work({ kafkaBootstrap, databaseUrl, queue }) {
    const pool = new pg.Pool({ connectionString: databaseUrl, max: handlerConnections })
    const kafka = new Kafka({
      clientId: 'bench',
      brokers: kafkaBootstrap!.split(','),
      logLevel: logLevel.NOTHING,
    })
    const consumer = kafka.consumer({ groupId: queue, sessionTimeout: 10_000 })
    await consumer.connect()
    await consumer.subscribe({ topic: queue, fromBeginning: true })
    await consumer.run({
      partitionsConsumedConcurrently: evenPartitions,
      eachMessage: ({ message }) => applyOne(pool, message.value!),
    })
  },
}
