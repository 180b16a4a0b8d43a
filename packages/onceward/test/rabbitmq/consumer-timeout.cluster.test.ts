import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { connect } from 'amqplib'
import {
  type PrivateRabbitmqOptions,
  skipWithoutPrivateRabbitmq,
  startPrivateRabbitmq,
} from '../services/private-rabbitmq.ts'
import { openQueue, text, until } from './broker.ts'

/** Some seconds instead of half an hour; 4.0 looks for overdue deliveries once in a tick. */
const impatient = {
  configuration: () => ['consumer_timeout = 3000'],
  files: { 'advanced.config': '[{rabbit, [{channel_tick_interval, 1000}]}].' },
}

/** A broker, a consumer of one of its queues, and a channel to look at the queue from outside. */
async function consume(t: TestContext, options: PrivateRabbitmqOptions) {
  const broker = await startPrivateRabbitmq(options)
  let close = async () => {}
  // The first hook is the first to run: what talks to the broker is closed before the broker is.
  t.after(async () => {
    await close()
    await broker.close()
  })
  const opened = await openQueue(t, 'slow', { url: broker.url })
  const model = await connect(broker.url)
  close = async () => {
    await opened.subscription.close()
    await model.close()
  }
  const channel = await model.createConfirmChannel()
  const send = async (...bodies: string[]) => {
    for (const body of bodies) channel.sendToQueue('slow', Buffer.from(body), { persistent: true })
    await channel.waitForConfirms()
  }
  return { ...opened, channel, send }
}

for (const version of ['4.0', '4.3'] as const) {
  describe(`a delivery that exceeded the acknowledgement time-out of RabbitMQ ${version}`, async () => {
    const skip = await skipWithoutPrivateRabbitmq(version)

    it('is reported as timed out and redelivered; the consumer continues', {
      timeout: 180_000,
      ...skip,
    }, async t => {
      const { subscription, events, event, take, channel, send } = await consume(t, {
        version,
        ...impatient,
      })
      await send('one', 'two')
      const overdue = await take(2)
      const told = await event('timed_out')
      assert.match(
        'reason' in told ? told.reason : '',
        /queue slow was not acknowledged within the broker's consumer timeout\. Nothing was lost/,
      )
      assert.deepEqual(await subscription.settle(overdue), { missed: 2 })
      const again = await take(2)
      assert.deepEqual(text(again).sort(), ['one', 'two'])
      assert.deepEqual(await subscription.settle(again), { missed: 0 })
      await send('three')
      const later = await take(1)
      assert.deepEqual(text(later), ['three'])
      await subscription.settle(later)
      assert.deepEqual(
        events.filter(({ kind }) => kind === 'cancelled'),
        [],
      )
      await subscription.close()
      await until(
        async () => (await channel.checkQueue('slow')).messageCount,
        ready => ready === 0,
      )
    })

    it('is not mistaken for a queue that was deleted', { timeout: 180_000, ...skip }, async t => {
      const { event, take, channel, send } = await consume(t, { version })
      await send('one')
      await take(1)
      await channel.deleteQueue('slow')
      const told = await event('cancelled')
      assert.match('reason' in told ? told.reason : '', /queue slow was deleted or moved/)
    })
  })
}
