import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { openConnection, withChannel } from '../../src/drivers/rabbitmq/connection.ts'
import { identityOf as ofQueues } from '../../src/drivers/rabbitmq/identity.ts'
import { readAddress } from '../../src/drivers/rabbitmq-stream/address.ts'
import { identityOf as ofStreams } from '../../src/drivers/rabbitmq-stream/identity.ts'
import { openEntrance } from '../../src/drivers/rabbitmq-stream/wire/handshake.ts'
import { rabbitmqStreamUrl, rabbitmqUrl, skipWithout } from '../services/services.ts'

describe('which cluster this is', await skipWithout('rabbitmq'), () => {
  test("is recognised over AMQP and the stream protocol, each by the other's mark", async t => {
    const url = await rabbitmqUrl()
    const connection = await openConnection(url, 'tests')
    const address = readAddress((await rabbitmqStreamUrl())!, 'A test')
    const link = await openEntrance(address, 'tests')
    t.after(async () => {
      await link.connection.close(2_000)
      await connection.close(2_000)
    })
    const [queues, streams] = [ofQueues(connection, url), ofStreams(link, address)]
    assert.deepEqual(
      [queues.kind, queues.cluster, queues.virtualHost],
      [streams.kind, streams.cluster, streams.virtualHost],
    )
    for (const [one, other] of [
      [queues.marks!, streams.marks!],
      [streams.marks!, queues.marks!],
    ] as const) {
      const name = `onceward.cluster.test-${randomBytes(6).toString('hex')}`
      assert.deepEqual([await one.has(name), await other.has(name)], [false, false])
      assert.equal(await one.put(name), true)
      assert.deepEqual([await one.has(name), await other.has(name)], [true, true])
      assert.equal(await queues.marks!.hasIn!('/', name), true)
      await withChannel(connection, channel => channel.deleteExchange(name))
      assert.deepEqual([await one.has(name), await other.has(name)], [false, false])
    }
    assert.equal(await queues.marks!.hasIn!('no such virtual host', 'any'), null)
  })
})
