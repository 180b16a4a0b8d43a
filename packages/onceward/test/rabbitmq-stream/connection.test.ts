import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { describe, test } from 'node:test'
import { readAddress } from '../../src/drivers/rabbitmq-stream/address.ts'
import { queryStats } from '../../src/drivers/rabbitmq-stream/wire/commands.ts'
import { FrameReader, FrameWriter } from '../../src/drivers/rabbitmq-stream/wire/frame.ts'
import { FrameSplitter } from '../../src/drivers/rabbitmq-stream/wire/frame-splitter.ts'
import { openLink } from '../../src/drivers/rabbitmq-stream/wire/handshake.ts'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import { startProxyFor } from '../proxy/tcp-proxy.ts'
import { manage } from '../rabbitmq/broker.ts'
import { rabbitmqStreamUrl, skipWithout } from '../services/services.ts'
import { createTestStream, numbers, openStream, randomName, text } from './broker.ts'
import { openWatch, positionOf } from './outside.ts'
import { startRecoveringBroker } from './recovering-broker.ts'

describe('the connection to a stream', { timeout: 240_000, ...(await skipWithout('rabbitmq')) }, () => {
  test('is refused at once with a wrong password, which is not repeated', async t => {
    const { name } = await createTestStream(t)
    const url = new URL((await rabbitmqStreamUrl())!)
    url.password = 'sesame'
    await assert.rejects(openStream(t, name, { url: url.href, start: 'first' }), (error: Error) => {
      assert.match(error.message, /refused user guest.*Nothing was consumed/s)
      assert.doesNotMatch(error.message, /sesame/)
      assert.equal((error as { code?: unknown }).code, 'configuration')
      return true
    })
  })

  test('is refused at once for a virtual host that does not exist', async t => {
    const url = new URL((await rabbitmqStreamUrl())!)
    url.pathname = '/nowhere'
    await assert.rejects(openStream(t, 'any', { url: url.href, start: 'first' }), {
      code: 'configuration',
      message: /virtual host nowhere/,
    })
  })

  for (const superStream of [false, true]) {
    test(`is refused at once for a ${superStream ? 'super stream' : 'stream'} that does not exist`, async t => {
      await assert.rejects(openStream(t, randomName(), { superStream, start: 'first' }), {
        code: 'configuration',
        message: /does not exist.*Nothing was consumed/s,
      })
    })
  }

  test('is refused to a broker that is too old, before an unsupported request is sent', async t => {
    const keys: number[] = []
    const server = createServer(socket => {
      const splitter = new FrameSplitter()
      socket.on('error', () => {})
      socket.on('data', bytes =>
        splitter.add(bytes, frame => {
          const reader = new FrameReader(frame)
          keys.push(reader.u16())
          reader.u16()
          const answer = new FrameWriter(0x8011).u32(reader.u32()).u16(1)
          socket.write(answer.texts({ product: 'RabbitMQ', version: '3.10.8' }).end())
        }),
      )
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close())
    const { port } = server.address() as { port: number }
    const url = `rabbitmq-stream://127.0.0.1:${port}`
    await assert.rejects(openStream(t, 'any', { url, start: 'first' }), {
      code: 'configuration',
      message: /is RabbitMQ 3\.10\.8; streams need 3\.13 or later/,
    })
    assert.deepEqual(keys, [0x11])
  })

  test('uses another node when its own no longer answers the location of the stream', async t => {
    const { name, url, send } = await createTestStream(t)
    const node = await startRecoveringBroker(t, url, { isNode: true })
    const reading = await openStream(t, name, { url: node.url, start: 'first' })
    await send('before')
    assert.deepEqual(text(await reading.take(1)), ['before'])
    node.cutOff()
    await reading.event('disconnected')
    await send('after')
    assert.deepEqual(text(await reading.take(2)), ['before', 'after'])
    assert.match(JSON.stringify(reading.events), /no answer to .*nodes of/)
  })

  test('is closed when an answer is too short to be valid', async t => {
    const server = createServer(socket => {
      const splitter = new FrameSplitter()
      socket.on('error', () => {})
      socket.on('data', bytes =>
        splitter.add(bytes, frame => {
          const reader = new FrameReader(frame)
          const key = reader.u16()
          reader.u16()
          socket.write(new FrameWriter(key | 0x8000).u32(reader.u32()).end())
        }),
      )
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close())
    const { port } = server.address() as { port: number }
    const address = readAddress(`rabbitmq-stream://127.0.0.1:${port}`, 'a test')
    await assert.rejects(openLink(address, 'tests'), RangeError)
  })

  test('is cut and reconnects automatically; nothing is lost, and settled records are not read again', async t => {
    const { name, send } = await createTestStream(t)
    const proxy = await startProxyFor((await rabbitmqStreamUrl())!)
    t.after(() => proxy.close())
    await send(...numbers(0, 20))
    const url = proxy.through((await rabbitmqStreamUrl())!)
    const { take, subscription, event } = await openStream(t, name, { url, start: 'first' })
    const first = await take(20)
    await subscription.settle(first.slice(0, 15))
    const watch = await openWatch((await rabbitmqStreamUrl())!)
    t.after(() => watch.destroy('done'))
    await until('the broker knows', async () => (await positionOf(watch, 'tester', name)) === '15')
    proxy.cut()
    await event('disconnected')
    const again = await take(5)
    assert.deepEqual(text(again), numbers(15, 20))
    assert.ok(again.every(({ redelivered }) => redelivered))
    assert.equal(subscription.isLive(first[17]!), false)
    assert.deepEqual(await subscription.settle(first.slice(15)), { missed: 5 })
    await send('20')
    assert.deepEqual(text(await take(1)), ['20'])
  })

  test('is closed by the broker and reconnects automatically', async t => {
    const { name, send } = await createTestStream(t)
    const { take, event, subscription } = await openStream(t, name, { start: 'first', group: name })
    await send('a')
    await subscription.settle(await take(1))
    const mine = async () =>
      (
        (await manage('GET', 'connections')) as {
          name: string
          client_properties?: { connection_name?: string }
        }[]
      ).find(one => one.client_properties?.connection_name === `onceward reads ${name} as ${name}`)
    await until('the broker lists the connection', async () => (await mine()) !== undefined)
    await manage('DELETE', `connections/${encodeURIComponent((await mine())!.name)}`)
    await event('disconnected')
    await event('connected', 2)
    await send('b')
    assert.equal(text(await take(1)).at(-1), 'b')
  })

  test('ends with the reason when the broker closes it', async () => {
    const { connection } = await openLink(readAddress((await rabbitmqStreamUrl())!, 'a test'), 'tests')
    connection.send(new FrameWriter(0x7abc))
    assert.match(await connection.ended, /the broker closed the connection: .*\(code \d+\)/)
    await assert.rejects(queryStats(connection, 'any'), /the broker closed the connection/)
  })

  test('that falls silent is closed', async t => {
    const url = (await rabbitmqStreamUrl())!
    const proxy = await startProxyFor(url)
    t.after(() => proxy.close())
    const { connection } = await openLink(readAddress(proxy.through(url), 'a test'), 'tests')
    connection.keepAlive(0.05)
    proxy.pause()
    assert.match(await connection.ended, /no heartbeat from the broker/)
  })

  test('that damages a chunk is closed, and the chunk is read again', async t => {
    const { name, send } = await createTestStream(t)
    const proxy = await startProxyFor((await rabbitmqStreamUrl())!)
    t.after(() => proxy.close())
    await send('precious')
    let given = () => false
    proxy.toClient(bytes => {
      const at = bytes.indexOf('precious')
      if (at < 0 || given()) return bytes
      const changed = Buffer.from(bytes)
      changed[at] = 'P'.charCodeAt(0)
      return changed
    })
    const url = proxy.through((await rabbitmqStreamUrl())!)
    const { take, events } = await openStream(t, name, { url, start: 'first' })
    given = () => /arrived damaged/.test(JSON.stringify(events))
    assert.deepEqual(text(await take(1)), ['precious'])
    assert.ok(given())
  })

  test('survives a store that fails while a partition is taken', async t => {
    const { name, send } = await createTestStream(t)
    await send('a')
    let failures = 0
    class Failing extends MemoryCheckpoints {
      override take(partitions: readonly string[]) {
        return failures++ < 2 ? Promise.reject(new Error('the store stumbled')) : super.take(partitions)
      }
    }
    const { take, events } = await openStream(
      t,
      name,
      { start: 'first' },
      { log: { checkpoints: new Failing(), onRevoke: () => Promise.reject(new Error('never mind')) } },
    )
    assert.deepEqual(text(await take(1)), ['a'])
    assert.match(JSON.stringify(events), /the store stumbled/)
  })
})
