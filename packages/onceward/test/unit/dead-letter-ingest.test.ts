import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Channel, GetMessage } from 'amqplib'
import { until } from 'onceward/testing'
import { DeadLetterIngest } from '../../src/drivers/rabbitmq/dead-letter-ingest.ts'
import { InFlight } from '../../src/drivers/rabbitmq/in-flight.ts'
import { queue } from '../../src/drivers/rabbitmq/index.ts'
import { readCount } from '../../src/drivers/rabbitmq/read-count.ts'

const death = { queue: 'work', reason: 'delivery_limit', 'routing-keys': ['work'] }

function message(tag: number, headers: object = { 'x-death': [death] }): GetMessage {
  const fields = { deliveryTag: tag, redelivered: true, exchange: '', routingKey: 'dead', messageCount: 0 }
  return { fields, properties: { headers }, content: Buffer.from(`${tag}`) } as unknown as GetMessage
}

/** A channel that answers each get with the next of these: a message, or an error to throw. */
function ingestOf(answers: (GetMessage | Error)[], onDeadLetter: (tag: number) => void = () => {}) {
  const seen = {
    taken: [] as number[],
    troubles: [] as (string | null)[],
    warnings: [] as string[],
    returned: [] as number[],
  }
  const channel = {
    get: async () => {
      const answer = answers.shift() ?? false
      if (answer instanceof Error) throw answer
      return answer
    },
    ack: () => {},
    nack: ({ fields }: GetMessage) => void seen.returned.push(fields.deliveryTag),
  }
  const ingest = new DeadLetterIngest({
    channel: channel as unknown as Channel,
    declaration: queue('work', { deadLetterIngest: 'dead' }),
    deliveriesMax: 10,
    inFlight: new InFlight(10, 1_000),
    onDeadLetter({ fields: { deliveryTag } }) {
      onDeadLetter(deliveryTag)
      seen.taken.push(deliveryTag)
      setImmediate(() => ingest.ack(deliveryTag))
    },
    onWarning: reason => void seen.warnings.push(reason),
    onTrouble: reason => void seen.troubles.push(reason),
  })
  return { ingest, seen }
}

describe('reading a dead-letter queue', () => {
  test('a failed read is reported, retried, and reported again when it works', async () => {
    const { ingest, seen } = ingestOf([message(1), new Error('odd'), new Error('odd again'), message(2)])
    const running = ingest.run()
    await until(
      'the second message is taken and the trouble over',
      () => seen.taken.length === 2 && seen.troubles.length === 3,
    )
    assert.deepEqual(seen.troubles, ['Error: odd', 'Error: odd again', null])
    ingest.stop()
    await running
  })

  test('a message that cannot be delivered is returned and named, and the next one is taken', async () => {
    const { ingest, seen } = ingestOf([message(1), message(2)], tag => {
      if (tag === 1) throw new TypeError('no such thing')
    })
    const running = ingest.run()
    await until(
      'the other one is taken, the odd one given back',
      () => seen.taken.length === 1 && seen.returned.length === 1,
    )
    assert.deepEqual([seen.taken, seen.returned, seen.troubles], [[2], [1], []])
    assert.match(seen.warnings[0]!, /could not be read: TypeError: no such thing/)
    ingest.stop()
    await running
  })

  test('ends silently when it was stopped with its session', async () => {
    const answers: (GetMessage | Error)[] = []
    const { ingest, seen } = ingestOf(answers)
    const running = ingest.run()
    answers.push(new Error('channel closed'))
    ingest.stop()
    await running
    assert.deepEqual(seen.troubles, [])
  })
})

test('the count of a queue is read from any header value', () => {
  const counts: [unknown, number][] = [
    [3, 3],
    [2.9, 2],
    [7n, 7],
    ['12', 12],
    [2n ** 70n, 2 ** 31 - 1],
    [1e300, 2 ** 31 - 1],
    ['9'.repeat(20), 2 ** 31 - 1],
  ]
  for (const [value, count] of counts) assert.equal(readCount(value), count, String(value))
  for (const none of [
    undefined,
    null,
    -1,
    -5n,
    Number.NaN,
    '',
    'x',
    '-1',
    true,
    {},
    Object.create(null),
    [3],
  ])
    assert.equal(readCount(none), 0)
})
