import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import amqp from 'amqplib'
import { until } from '../../src/testing/until.ts'
import { rabbitmqUrl, skipWithout } from '../services/services.ts'
import { createTestStream, numbers, openStream, text } from './broker.ts'

/** As the protocol numbers them; the client's own names are not exported to modules. */
const packings = { none: 0, gzip: 1, lz4: 3 } as const

describe('records of a RabbitMQ stream', { timeout: 240_000, ...(await skipWithout('rabbitmq')) }, () => {
  test('carry their bytes, properties, headers and place', async t => {
    const { name, sendWith } = await createTestStream(t)
    const created = new Date('2026-11-15T08:00:00.123Z')
    await sendWith(
      {
        messageProperties: {
          messageId: 'm-1',
          correlationId: 'c-1',
          contentType: 'application/json',
          contentEncoding: 'identity',
          subject: 'case.opened',
          creationTime: created,
        },
        applicationProperties: { tenant: 'north', attempt: 3 },
      },
      Buffer.from([0, 255, 128, 10]),
    )
    const { take } = await openStream(t, name, { start: 'first' })
    const [delivery] = await take(1)
    assert.deepEqual([...delivery!.body], [0, 255, 128, 10])
    assert.deepEqual({ ...delivery!.headers }, { tenant: 'north', attempt: 3 })
    assert.deepEqual(
      { ...delivery!.properties },
      {
        messageId: 'm-1',
        correlationId: 'c-1',
        type: 'case.opened',
        contentType: 'application/json',
        contentEncoding: 'identity',
        timestampMs: created.getTime(),
      },
    )
    const { origin, position, partition, key, redelivered, deliveryCount } = delivery!
    assert.deepEqual(
      { origin, position, partition, key, redelivered, deliveryCount },
      {
        origin: name,
        position: `${name}@0`,
        partition: name,
        key: null,
        redelivered: false,
        deliveryCount: 0,
      },
    )
    const { at, next, epoch } = delivery!.place!
    assert.deepEqual({ at, next, epoch }, { at: '0', next: '1', epoch: 1 })
  })

  test('published over AMQP 0.9.1 keep its properties, 64-bit headers included', async t => {
    const { name } = await createTestStream(t)
    const connection = await amqp.connect(await rabbitmqUrl())
    t.after(() => connection.close())
    const channel = await connection.createConfirmChannel()
    const headers = {
      big: 2 ** 40,
      half: 1.5,
      yes: true,
      list: [1, 'two'],
      'x-tenant': 'north',
      nested: { a: 1 },
    }
    channel.sendToQueue(name, Buffer.from('{"n":1}'), {
      headers,
      messageId: 'm-1',
      correlationId: 'c-1',
      type: 'case.opened',
      appId: 'desk',
      contentType: 'application/json',
      timestamp: 1_731_000_000,
    })
    await channel.waitForConfirms()
    const { take } = await openStream(t, name, { start: 'first' })
    const [delivery] = await take(1)
    assert.equal(delivery!.body.toString(), '{"n":1}')
    const { big, half, yes, 'x-tenant': tenant } = delivery!.headers
    assert.deepEqual({ big, half, yes, tenant }, { big: 2 ** 40, half: 1.5, yes: true, tenant: 'north' })
    assert.deepEqual(
      { ...delivery!.properties },
      {
        messageId: 'm-1',
        correlationId: 'c-1',
        type: 'case.opened',
        appId: 'desk',
        contentType: 'application/json',
        timestampMs: 1_731_000_000_000,
      },
    )
    assert.equal(delivery!.key, name)
  })

  for (const [packing, type] of [
    ['unpacked', packings.none],
    ['with gzip', packings.gzip],
  ] as const) {
    test(`in sub-batches, ${packing}, are all delivered under their own offsets`, async t => {
      const { name, publisher: open, send } = await createTestStream(t)
      await send('0', '1')
      const publisher = await open()
      for (const [from, to] of [
        [2, 5],
        [5, 9],
      ] as const) {
        const messages = numbers(from, to).map(body => ({ content: Buffer.from(body) }))
        await publisher.sendSubEntries(messages, type)
      }
      const { take } = await openStream(t, name, { start: 'first' })
      const all = await take(9)
      assert.deepEqual(text(all), numbers(0, 9))
      assert.deepEqual(
        all.map(({ place }) => place!.at),
        numbers(0, 9),
      )
      const inside = await openStream(t, name, { start: 3, group: 'inside' })
      assert.deepEqual(text(await inside.take(6)), numbers(3, 9))
    })
  }

  test('with an unsupported compression are delivered as they are, for the quarantine', async t => {
    const { name, publisher: open } = await createTestStream(t)
    const publisher = await open()
    // The client keeps compressions per connection.
    const inner = publisher as unknown as { connection: { registerCompression(one: unknown): void } }
    inner.connection.registerCompression({
      getType: () => packings.lz4,
      compress: (data: Buffer) => gzipSync(data),
      decompress: (data: Buffer) => data,
    })
    await publisher.sendSubEntries([{ content: Buffer.from('a') }], packings.lz4)
    const { take } = await openStream(t, name, { start: 'first' })
    const [broken] = await take(1)
    assert.match(broken!.properties.contentEncoding!, /^unreadable: .*packed with lz4/)
  })

  test('in the chunk before the start are not delivered', async t => {
    const { name, send } = await createTestStream(t)
    await send(...numbers(0, 50))
    const { take } = await openStream(t, name, { start: 37 })
    const rest = await take(13)
    assert.deepEqual(text(rest), numbers(37, 50))
    assert.equal(rest[0]!.position, `${name}@37`)
  })

  test('report the lag of the consumer', async t => {
    const { name, send } = await createTestStream(t)
    await send(...numbers(0, 20))
    const { take, subscription } = await openStream(t, name, { start: 'first' })
    const all = await take(20)
    await until('the lag is known', () => subscription.lag!()[0]!.behind === 20)
    assert.equal(subscription.lag!()[0]!.oldestMs, all[0]!.properties.timestampMs)
    await subscription.settle(all)
    assert.deepEqual(subscription.lag!(), [{ partition: name, behind: 0, oldestMs: null }])
  })
})
