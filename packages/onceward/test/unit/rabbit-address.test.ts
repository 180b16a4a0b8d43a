import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { runRelay } from 'onceward/outbox'
import { addressOf, virtualHostOf } from '../../src/drivers/rabbitmq/address.ts'
import { readAddress } from '../../src/drivers/rabbitmq-stream/address.ts'
import { rabbitOutlet } from '../../src/runtime/open-source.ts'

describe('an address of RabbitMQ', () => {
  it('is shown as host, port and virtual host only', () => {
    const url =
      'amqps://user:s3cret@broker/a%2Fb?keyfile=/k&password=s3cret&auth_mechanism=external&heartbeat=7'
    assert.deepEqual(rabbitOutlet(url, undefined), {
      address: 'broker:5671/a/b',
      virtualHost: 'a/b',
      cluster: undefined,
    })
    assert.equal(addressOf('amqp://broker'), 'broker:5672//')
  })

  it('that cannot be read is refused without being repeated', async () => {
    const unreadable = [
      'amqp://user:s3cret@broker:567200/',
      'amqp://user:s3cret#x@broker:5672/',
      'amqp://user:s3cret@broker/%zz',
      'amqp://user:s3cret%zz@broker/',
      'user:s3cret@broker',
    ]
    const refused = (error: unknown) => {
      assert.equal((error as { code?: unknown }).code, 'configuration')
      assert.match(String(error), /needs a URL like amqp:/)
      assert.doesNotMatch(inspect(error), /s3cret/)
      return true
    }
    for (const url of unreadable) {
      assert.throws(() => addressOf(url), refused)
      assert.throws(() => virtualHostOf(url), refused)
      const databaseUrl = 'postgres://nobody@127.0.0.1:1/none'
      await assert.rejects(runRelay({ databaseUrl, rabbitmqUrl: url, brokers: ['rabbitmq'] }), refused)
    }
  })

  it('of a stream, with an unfinished percent sign, is refused without being repeated', () => {
    for (const url of ['rabbitmq-stream://user:s3cret%zz@a', 'rabbitmq-stream://s3cret@a/%'])
      assert.throws(
        () => readAddress(url, 'The stream'),
        error => /needs a URL like rabbitmq-stream:/.test(String(error)) && !/s3cret/.test(inspect(error)),
      )
  })
})
