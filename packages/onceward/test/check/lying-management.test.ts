import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { defineConsumer } from 'onceward'
import { queue } from 'onceward/rabbitmq'
import { askQueue } from '../../src/drivers/rabbitmq/management.ts'
import { rabbitmqUrl, skipWithout } from '../services/services.ts'
import { liveFindings } from './live-scene.ts'

/** A management plugin, or something in its place, that answers every question with what the test says. */
async function startLiar() {
  let answer: (path: string) => string = () => '{}'
  const server = createServer((request, response) => response.end(answer(request.url ?? '')))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    say: (next: typeof answer) => {
      answer = next
    },
    [Symbol.asyncDispose]: async () => void server.close(),
  }
}

const consumer = defineConsumer({
  name: 'lied_to',
  owner: 'tests',
  risk: 'low value',
  source: queue('lied.to'),
  identity: { id: (message: { id: string }) => message.id },
  failure: { deadLetter: 'lied.to.dead' },
  handle() {},
})

/** What JavaScript says of a value that is not what the code takes it for. */
const internal = /is not a function|Cannot read|Cannot convert|Cannot use 'in'|not iterable|is not defined/

/** The names that the code reads, with anything behind them. */
const reply = fc.dictionary(
  fc.constantFrom(
    ...['name', 'type', 'arguments', 'policy', 'operator_policy', 'definition', 'durable', 'source'],
    ...['destination', 'routing_key', 'rabbitmq_version', 'cluster_name', 'effective_policy_definition'],
    ...['delivery_limit', 'mem_alarm', 'x-dead-letter-exchange', 'x-delivery-limit', 'toString'],
  ),
  fc.oneof(
    fc.constantFrom<unknown>('lied.to', null, true, [], {}, { toString: 1 }, '4.0.5', -1),
    fc.jsonValue(),
  ),
)

describe('a management plugin that lies', await skipWithout('rabbitmq'), () => {
  test('does not make a check throw', async () => {
    await using liar = await startLiar()
    const rabbitmqUrlGiven = await rabbitmqUrl()
    const answers = fc.oneof(fc.jsonValue(), fc.array(reply, { maxLength: 4 }), reply)
    await fc.assert(
      fc.asyncProperty(fc.array(answers, { minLength: 7, maxLength: 7 }), async bodies => {
        const paths = [
          'overview',
          'queues',
          'exchanges',
          'bindings',
          'operator-policies',
          'policies',
          'nodes',
        ]
        liar.say(path => JSON.stringify(bodies[paths.findIndex(one => path.includes(one))] ?? null))
        const findings = await liveFindings([consumer as never], {
          rabbitmqUrl: rabbitmqUrlGiven,
          managementUrl: liar.url,
        })
        assert.doesNotMatch(JSON.stringify(findings), internal)
      }),
      { numRuns: 60 },
    )
  })

  test('is not trusted about a queue, and prevents no consumer from starting', async () => {
    await using liar = await startLiar()
    const answers = [
      null,
      [],
      'x',
      {},
      { error: 'x' },
      { name: 'another', type: 'quorum' },
      { name: 'lied.to' },
    ]
    for (const answer of answers) {
      liar.say(() => JSON.stringify(answer))
      const asked = await askQueue(liar.url, await rabbitmqUrl(), 'lied.to')
      assert.ok('unknown' in asked, JSON.stringify(answer))
    }
    const strange = { name: 'lied.to', type: 'quorum', arguments: 3, effective_policy_definition: 'x' }
    liar.say(() => JSON.stringify(strange))
    const asked = await askQueue(liar.url, await rabbitmqUrl(), 'lied.to')
    assert.ok('known' in asked && asked.known.hasDeadLetterExchange === undefined)
  })

  test('of another cluster is not used for this one', async () => {
    await using liar = await startLiar()
    liar.say(path => (path.includes('overview') ? '{"cluster_name":"another"}' : '[]'))
    const findings = await liveFindings([consumer as never], {
      rabbitmqUrl: await rabbitmqUrl(),
      managementUrl: liar.url,
    })
    assert.match(JSON.stringify(findings), /belongs to cluster another/)
  })
})
