import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'
import { addressOf, assertUrl, virtualHostOf } from '../../src/drivers/rabbitmq/address.ts'
import { readAddress } from '../../src/drivers/rabbitmq-stream/address.ts'
import { tlsOf, withTls } from '../../src/drivers/tls/tls-url.ts'
import { editUrl, everyUrl } from '../../src/ports/broker-url.ts'
import { timingOf } from '../../src/ports/connection-timing.ts'
import { rabbitmq } from '../../src/runtime/servers-of.ts'

const several = 'amqps://user:p%40ss@a,b:5673,[::1]:5674/v%2Fh?heartbeat=7'

describe('an address of several hosts', () => {
  test('is one address for each, with the same login, virtual host and parameters', () => {
    assert.deepEqual(everyUrl(several), [
      'amqps://user:p%40ss@a/v%2Fh?heartbeat=7',
      'amqps://user:p%40ss@b:5673/v%2Fh?heartbeat=7',
      'amqps://user:p%40ss@[::1]:5674/v%2Fh?heartbeat=7',
    ])
    assert.deepEqual(everyUrl('amqp://a, b'), ['amqp://a', 'amqp://b'])
    assert.deepEqual(everyUrl('amqp://u:p@w@a,b'), ['amqp://u:p@w@a', 'amqp://u:p@w@b'])
    assert.equal(virtualHostOf(several), 'v/h')
    assert.equal(addressOf(several), 'a:5671,b:5673,[::1]:5674/v/h')
    assert.deepEqual(rabbitmq('RabbitMQ', several), [
      {
        name: 'RabbitMQ',
        addresses: [
          { host: 'a', port: 5671 },
          { host: 'b', port: 5673 },
          { host: '::1', port: 5674 },
        ],
      },
    ])
  })

  test('of streams has the same form', () => {
    const { hosts, host, port, vhost, timing } = readAddress('rabbitmq-stream://u:p@a,b:5553/v', 'A test')
    assert.deepEqual(hosts, [
      { host: 'a', port: 5552 },
      { host: 'b', port: 5553 },
    ])
    assert.deepEqual([host, port, vhost], ['a', 5552, 'v'])
    assert.deepEqual(timing, { heartbeatS: 5, connectMs: 5_000 })
  })

  test('takes TLS from contract and environment for all of them', () => {
    const url = withTls(several, { ca: '/ca.pem' })
    assert.equal(everyUrl(url).length, 3)
    for (const one of everyUrl(url)) assert.deepEqual(tlsOf(one), { ca: '/ca.pem' })
    assert.equal(
      editUrl('amqp://a,b', () => {}),
      'amqp://a,b',
    )
  })

  test('with an invalid host is refused, and not repeated in the error', () => {
    const unreadable = ['amqp://u:s3cret@a,,b/', 'amqp://u:s3cret@a:99999,b/', 'amqp://u:s3cret@a,b c/']
    for (const url of [...unreadable, 'amqp://u:s3cret@,/', 'http://u:s3cret@a,b/'])
      assert.throws(
        () => assertUrl(url, 'A test'),
        error => {
          assert.doesNotMatch(inspect(error), /s3cret/)
          return (error as { code?: unknown }).code === 'configuration'
        },
        url,
      )
  })
})

test('heartbeat and time-out of an address are whole numbers within bounds', () => {
  assert.deepEqual(timingOf(everyUrl(several)[1]!, 'It'), { heartbeatS: 7, connectMs: 5_000 })
  assert.equal(timingOf('amqp://a?connection_timeout=300', 'It').connectMs, 300)
  for (const query of [
    'heartbeat=0',
    'heartbeat=x',
    'heartbeat=-1',
    'heartbeat=601',
    'connection_timeout=1.5',
  ])
    assert.throws(() => timingOf(`amqp://a?${query}`, 'It'), { code: 'configuration' }, query)
})
