import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { createStreamSource, stream } from 'onceward/rabbitmq-stream'
import client from 'rabbitmq-stream-js-client'
import { readAmqpMessage } from '../../src/drivers/rabbitmq-stream/wire/amqp-message.ts'
import { eachRecord, readChunk } from '../../src/drivers/rabbitmq-stream/wire/chunk.ts'
import { giveCredit, subscribe } from '../../src/drivers/rabbitmq-stream/wire/commands.ts'
import { logOptions } from '../../src/testing/memory-checkpoints.ts'
import { rabbitmqStreamUrl } from '../services/services.ts'
import { connectClient } from './broker.ts'
import { openWatch } from './outside.ts'

/**
 * Records a second of a full stream: the public client, the protocol by hand, and the source; batches of 500,
 * each settled.
 */
const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '200000' },
    bytes: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '5' },
  },
})
const records = Number(values.records)
const url = (await rabbitmqStreamUrl())!
const name = `measure-${randomBytes(6).toString('hex')}`
const outside = await connectClient(url)
await outside.createStream({ stream: name, arguments: {} })
const publisher = await outside.declarePublisher({ stream: name })
const body = randomBytes(Number(values.bytes))
let confirmed = 0
publisher.on('publish_confirm', (_error, ids) => {
  confirmed += ids.length
})
for (let sent = 0; sent < records; sent++) {
  await publisher.send(body, { messageProperties: { messageId: `m-${sent}` } })
  if (sent % 1_000 === 999) await publisher.flush()
}
await publisher.flush()
while (confirmed < records) await new Promise(resolve => setTimeout(resolve, 10))

async function publicClient(): Promise<void> {
  const done = Promise.withResolvers<void>()
  let count = 0
  const consumer = await outside.declareConsumer({ stream: name, offset: client.Offset.first() }, () => {
    if (++count === records) done.resolve()
  })
  await done.promise
  await outside.closeConsumer(consumer.extendedId)
}

async function byHand(): Promise<void> {
  const connection = await openWatch(url)
  const done = Promise.withResolvers<void>()
  let count = 0
  let batch: unknown[] = []
  // The first on its connection; chunks come before the answer.
  const id = 0
  await subscribe(
    connection,
    { stream: name, from: 'first', credit: 16 },
    {
      onChunk: (frame, at) => {
        const chunk = readChunk(frame, at)!
        eachRecord(chunk, 0, {
          onRecord(offset, bytes) {
            batch.push({ offset, ...readAmqpMessage(bytes, chunk.timestampMs) })
            if (batch.length === 500) batch = []
          },
          onBroken: (_offset, _records, _bytes, problem) => done.reject(new Error(problem)),
        })
        count += chunk.records
        giveCredit(connection, id, 1)
        if (count >= records) done.resolve()
      },
      onActive: (_active, answer) => answer(null),
    },
  )
  await done.promise
  connection.destroy('done')
}

async function source(): Promise<void> {
  const subscription = await createStreamSource(
    stream(name, { start: 'first', group: randomBytes(4).toString('hex') }),
    {
      url,
    },
  ).open({ inFlightMax: 5_000, inFlightBytesMax: 64e6, onEvent: () => {}, log: logOptions() })
  for (let count = 0; count < records; ) {
    const batch = await subscription.receive(500)
    count += batch.length
    await subscription.settle(batch)
  }
  await subscription.close()
}

/** Rates by the clock, and by this process's processor time: on a shared machine only the second compares. */
const rates = new Map<string, { clock: number[]; processor: number[] }>()
for (let round = 0; round < Number(values.rounds); round++) {
  for (const one of [publicClient, byHand, source]) {
    const [began, before] = [performance.now(), process.cpuUsage()]
    await one()
    const { user, system } = process.cpuUsage(before)
    const { clock, processor } = rates.get(one.name) ?? { clock: [], processor: [] }
    clock.push(Math.round((records / (performance.now() - began)) * 1_000))
    processor.push(Math.round((records / (user + system)) * 1_000_000))
    rates.set(one.name, { clock, processor })
  }
}
const median = (all: number[]) => all.sort((one, other) => one - other)[all.length >> 1]
for (const [one, { clock, processor }] of rates)
  console.log(
    `${one}: ${median(clock)}/s by the clock, ${median(processor)}/s of processor time (${processor.join(' ')})`,
  )
await outside.deletePublisher(publisher.extendedId)
await outside.deleteStream({ stream: name })
await outside.close()
