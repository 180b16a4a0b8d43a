/**
 * Consume-and-settle rates of the source beside the raw client, one run. By hand:
 * `node --conditions=@onceward/source measure.ts [count]`.
 */
import { connect, type Message } from 'amqplib'
import { createRabbitPublisher, createRabbitSource, queue } from '../../src/drivers/rabbitmq/index.ts'

const url = process.env.ONCEWARD_RABBITMQ_URL ?? 'amqp://guest:guest@127.0.0.1:27672'
const count = Number(process.argv[2] ?? 60_000)
const name = `measure-${process.pid}`
const declaration = queue(name, { url })
const body = Buffer.alloc(200, 'x')
const admin = await connect(url)
const channel = await admin.createConfirmChannel()

async function fill(): Promise<void> {
  const source = await createRabbitSource(declaration).open({
    inFlightMax: 1,
    inFlightBytesMax: 1e6,
    onEvent() {},
  })
  await source.close()
  await channel.purgeQueue(name)
  for (let i = 0; i < count; i++) {
    if (!channel.sendToQueue(name, body, { persistent: true })) {
      await new Promise(resolve => channel.once('drain', resolve))
    }
  }
  await channel.waitForConfirms()
}

async function throughSource(batch: number, holdFirst = false): Promise<number> {
  await fill()
  const began = performance.now()
  const source = await createRabbitSource(declaration).open({
    inFlightMax: 2_000,
    inFlightBytesMax: 64 * 1024 * 1024,
    onEvent() {},
  })
  for (let seen = 0; seen < count; ) {
    const deliveries = await source.receive(batch)
    await source.settle(holdFirst && seen === 0 ? deliveries.slice(1) : deliveries)
    seen += deliveries.length
  }
  const rate = count / (performance.now() - began)
  await source.close()
  return rate
}

async function raw(multiple: boolean): Promise<number> {
  await fill()
  const consuming = await admin.createChannel()
  await consuming.prefetch(2_000)
  const began = performance.now()
  let seen = 0
  await new Promise<void>((resolve, reject) => {
    const onMessage = (message: Message | null) => {
      if (message === null) return reject(new Error('cancelled'))
      seen++
      if (!multiple) consuming.ack(message)
      else if (seen % 500 === 0 || seen === count) consuming.ack(message, true)
      if (seen === count) resolve()
    }
    consuming.consume(name, onMessage).catch(reject)
  })
  const rate = count / (performance.now() - began)
  await consuming.close()
  return rate
}

const show = (what: string, rate: number) => console.log(`${what.padEnd(44)} ${rate.toFixed(1)} k/s`)
for (let round = 0; round < 2; round++) {
  show('raw client, ack each', await raw(false))
  show('raw client, multiple ack per 500', await raw(true))
  show('source, settle 500 at a time', await throughSource(500))
  show('source, 500 at a time, every ack single', await throughSource(500, true))
  show('source, settle 100 at a time', await throughSource(100))
  show('source, settle 1 at a time', await throughSource(1))
}
const publisher = createRabbitPublisher({ url })
const began = performance.now()
for (let sent = 0; sent < 20_000; sent += 500) {
  const messages = Array.from({ length: 500 }, (_, i) => ({ queue: name, messageId: `${sent + i}`, body }))
  const results = await publisher.publish(messages)
  if (results.some(result => result !== 'confirmed')) throw new Error('not confirmed')
}
show('publisher, 500 confirmed at a time', 20_000 / (performance.now() - began))
await publisher.close()
await channel.deleteQueue(name)
await admin.close()
