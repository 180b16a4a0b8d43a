import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { until } from 'onceward/testing'
import { openConnection, withChannel, within } from '../../src/drivers/rabbitmq/connection.ts'
import { skipWithout } from '../services/services.ts'
import { createTestQueue, openQueue } from './broker.ts'

/** Of the frame that closes a channel: class and method. */
const channelClose = Buffer.from([0, 20, 0, 40])

/** The real broker; once armed, the connection breaks on which a client next wants to close a channel. */
async function startBreakingBroker(t: TestContext, url: string) {
  const upstream = new URL(url)
  let armed = false
  const server = createServer(client => {
    const broker = connect({ host: upstream.hostname, port: Number(upstream.port) })
    for (const socket of [client, broker]) socket.on('error', () => {})
    client.on('close', () => broker.destroy())
    broker.on('close', () => client.destroy())
    broker.on('data', bytes => client.write(bytes))
    client.on('data', bytes => {
      if (!armed || !bytes.includes(channelClose)) return broker.write(bytes)
      armed = false
      return client.destroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const own = new URL(url)
  own.port = String((server.address() as AddressInfo).port)
  return {
    url: own.href,
    arm: () => {
      armed = true
    },
    isArmed: () => armed,
  }
}

describe('a connection that breaks while a channel is being closed', await skipWithout('rabbitmq'), () => {
  test('does not delay callers that have their answer', async t => {
    const { url } = await createTestQueue(t)
    const broker = await startBreakingBroker(t, url)
    const connection = await openConnection(broker.url, 'tests')
    broker.arm()
    const answered = withChannel(connection, channel => channel.checkExchange('amq.direct'))
    assert.ok(await within(5_000, answered), 'it settles')
    await connection.ended
  })

  test('leaves a source that knows its depth, and is not stalled, on the next connection', async t => {
    const { url, name } = await createTestQueue(t)
    const broker = await startBreakingBroker(t, url)
    const { subscription, event } = await openQueue(t, name, { url: broker.url })
    await event('connected')
    broker.arm()
    const behind = () => subscription.lag!()[0]!.behind
    behind()
    await until('it was asked, and the connection broke', () => !broker.isArmed())
    await event('connected', 2)
    await until('it knows how much waits', () => behind() === 0, { deadlineMs: 20_000 })
    assert.equal(subscription.stalled!(), null)
  })
})
