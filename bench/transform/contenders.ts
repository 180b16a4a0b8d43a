import { Consumer, type Message, Producer } from '@platformatic/kafka'
import { defineTransform, runTransform } from 'onceward'
import { topic } from 'onceward/kafka'
import { KafkaConnections } from '../../packages/onceward/src/drivers/kafka/client/connections.ts'
import { TransactionalProducer } from '../../packages/onceward/src/drivers/kafka/client/transactions.ts'
import { connectKafka } from '../contenders/logs/kafka-reader.ts'
import type { LogRecord } from '../contenders/logs/log-reader.ts'
import type { Increment } from '../workload.ts'

/** What one contender does: every record of `from` becomes one of `to`, in transactions of the group. */
export interface TransformTask {
  readonly bootstrap: string
  readonly from: string
  readonly to: string
  readonly group: string
  readonly count: number
}

/** Resolves with the seconds from the first record to the last commit. */
export type RunTask = (task: TransformTask) => Promise<number>

const batchMax = 1_000

/** The work of both: a smaller record under the same key. */
function transformed({ id, key, amount }: Increment): { key: string; value: string } {
  return { key: String(key), value: JSON.stringify({ id, cents: amount * 100 }) }
}

/**
 * What one writes first with the client's own classes: read a batch, transform it, send it, add the last
 * offset of each partition, commit. No retries, no dead letters, and no fence but the group's.
 */
export const handLoop: RunTask = async ({ bootstrap, from, to, group, count }) => {
  const options = { clientId: 'onceward-bench', bootstrapBrokers: bootstrap.split(',') }
  const producer = new Producer({
    ...options,
    idempotent: true,
    transactionalId: `${group}.hand`,
    retries: 0,
  })
  const consumer = new Consumer({ ...options, groupId: group })
  const stream = await consumer.consume({
    topics: [from],
    mode: 'earliest',
    autocommit: false,
    isolationLevel: 1,
    maxWaitTime: 100,
    highWaterMark: 4 * batchMax,
  })
  let began = 0
  let done = 0
  let batch: Message[] = []
  const commit = async () => {
    const transaction = await producer.beginTransaction()
    const messages = batch.map(({ value }) => {
      const output = transformed(JSON.parse(value.toString()) as Increment)
      return { topic: to, key: Buffer.from(output.key), value: Buffer.from(output.value) }
    })
    await transaction.send({ messages, acks: -1 })
    await transaction.addConsumer(consumer as never)
    const last = new Map(batch.map(message => [message.partition, message]))
    for (const message of last.values()) await transaction.addOffset(message as never)
    await transaction.commit()
    done += batch.length
    batch = []
  }
  for await (const message of stream) {
    began ||= performance.now()
    batch.push(message as Message)
    if (batch.length === batchMax || done + batch.length === count) await commit()
    if (done === count) break
  }
  const seconds = (performance.now() - began) / 1_000
  await stream.close()
  await consumer.close(true)
  await producer.close()
  return seconds
}

/**
 * The strongest loop we know how to write: raw fetches one ahead, and the transactions of Onceward's own
 * client. It joins no group, so nothing fences it, and it reads nothing but the JSON.
 */
export const bareLoop: RunTask = async ({ bootstrap, from, to, group, count }) => {
  const connections = new KafkaConnections({ bootstrap })
  const producer = new TransactionalProducer(connections, { transactionalId: `${group}.bare` })
  await producer.start()
  const client = await connectKafka({
    databaseUrl: '',
    rabbitmqUrl: null,
    streamUrl: null,
    kafkaBootstrap: bootstrap,
  })
  const reader = await client.open({ queue: from, group } as never)
  const anonymous = { groupId: group, generation: -1, memberId: '', instanceId: null }
  const commit = async (batch: readonly LogRecord[]) => {
    const outputs = batch.map(({ body }) => {
      const { key, value } = transformed(JSON.parse(body.toString()) as Increment)
      const record = { topic: to, key: Buffer.from(key), value: Buffer.from(value) }
      return { ...record, headers: [], timestampMs: Date.now() }
    })
    await producer.send(outputs)
    const last = new Map(batch.map(({ partition, offset }) => [partition, offset]))
    const offsets = [...last].map(([partition, offset]) => ({ partition, next: BigInt(offset + 1) }))
    const facts = { topic: from, leaderEpoch: -1, metadata: '' }
    await producer.sendOffsets(
      anonymous,
      offsets.map(one => ({ ...one, ...facts })),
    )
    await producer.commit()
  }
  const began = performance.now()
  let read: readonly LogRecord[] = []
  for (let done = 0; done < count; ) {
    while (read.length < batchMax && done + read.length < count) read = [...read, ...(await reader.read())]
    await commit(read.slice(0, batchMax))
    done += Math.min(batchMax, read.length)
    read = read.slice(batchMax)
  }
  const seconds = (performance.now() - began) / 1_000
  await reader.close()
  producer.close()
  await connections.close()
  return seconds
}

/** As `onceward run` runs it, without the metrics server. */
export const oncewardTransform: RunTask = async ({ bootstrap, from, to, group, count }) => {
  let began = 0
  const transform = defineTransform<Increment>({
    name: 'bench',
    owner: 'bench',
    risk: 'low value',
    source: topic(from, { group, start: 'earliest' }),
    identity: { id: ({ id }) => id },
    batch: { sizeMax: batchMax },
    to: [to],
    map: ({ message }) => {
      began ||= performance.now()
      return [{ topic: to, ...transformed(message) }]
    },
  })
  const running = await runTransform(transform, { kafkaBootstrap: bootstrap })
  while ((running.tally.outcomes.applied ?? 0) < count)
    await Promise.race([new Promise(resolve => setTimeout(resolve, 2)), running.finished])
  const seconds = (performance.now() - began) / 1_000
  await running.drain()
  return seconds
}

export const transformContenders: Readonly<Record<string, RunTask>> = {
  'hand-written, client of its own': handLoop,
  'hand-written, our transactions': bareLoop,
  'Onceward transform': oncewardTransform,
}
