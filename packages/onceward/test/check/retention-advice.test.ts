import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ConsumerContract, type Risk, runConsumer, type SqlTransaction } from 'onceward'
import { file } from 'onceward/file'
import { ensureTopic, topic } from 'onceward/kafka'
import { createPool, createQueue, migrate, postgresQueue } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { stream } from 'onceward/rabbitmq-stream'
import type { Consumer } from '../../src/contract/define-consumer.ts'
import { assertKeptLongEnough, type SourceWindow } from '../../src/contract/needed-retention.ts'
import { ownQueueWindow } from '../../src/contract/source-windows.ts'
import { risks } from '../../src/contract/words.ts'
import { check } from '../../src/review/check.ts'
import { createDatabase, kafkaBootstrap, rabbitmqUrl, skipWithout } from '../services/services.ts'
import { consumerWith } from './contract-pairs.ts'

type Changes = Partial<ConsumerContract>

const without = { retention: undefined as never }

async function findingsOf(consumer: Consumer) {
  const { findings } = await check([{ file: 'x.ts', consumer }], { waivers: [], today: '2026-11-18' })
  return findings.filter(({ id }) => /^OW16[1-6]$/.test(id))
}

/** The section as it stands in the finding. */
async function advised(changes: Changes): Promise<NonNullable<ConsumerContract['retention']>> {
  const [one, ...others] = await findingsOf(consumerWith({ ...changes, ...without }))
  assert.deepEqual(others, [])
  const [, section] = /; add retention: (\{.*\})$/.exec(one!.found)!
  return JSON.parse(section!.replace(/(\w+):/g, '"$1":').replaceAll("'", '"'))
}

const unknown: SourceWindow = { unknown: 'cannot be asked' }
const sources: readonly [string, ConsumerContract['source'], SourceWindow][] = [
  ['a queue of ours', postgresQueue('q'), ownQueueWindow({ queue: 'q' })],
  ['a queue of ours in another database', postgresQueue('q', { url: 'postgres://elsewhere/q' }), unknown],
  ['a queue of RabbitMQ', queue('q'), unknown],
  ['a stream', stream('s', { start: 'first' }), { ms: Number.POSITIVE_INFINITY, by: 'no max-age' }],
  ['a topic', topic('t'), { ms: 14 * 86_400_000, by: 'the defaults of Kafka' }],
  ['a file', file('events/*.jsonl'), unknown],
]

describe('the retention that check advises', () => {
  for (const [what, source, window] of sources) {
    test(`for ${what} starts and leaves no finding, for every risk and window of replays`, async () => {
      for (const risk of risks) {
        for (const replay of [{ window: '1d' }, { window: '200d' }, { modes: ['forensic' as const] }]) {
          const changes: Changes = { source, risk, replay }
          const consumer = consumerWith({ ...changes, retention: await advised(changes) })
          assert.deepEqual(await findingsOf(consumer), [], `${risk} ${JSON.stringify(replay)}`)
          assert.doesNotThrow(() => assertKeptLongEnough(consumer, window))
        }
      }
    })
  }

  test('is {} for a queue of ours, and its absence is an error for money alone', async () => {
    assert.deepEqual(await advised({ source: postgresQueue('q') }), {})
    const severities = await Promise.all(
      risks.map(async risk => {
        const [one] = await findingsOf(consumerWith({ risk, ...without }))
        return [risk, one!.severity]
      }),
    )
    assert.deepEqual(Object.fromEntries(severities), {
      money: 'error',
      regulatory: 'error',
      notification: 'note',
      projection: 'note',
      telemetry: 'note',
      'low value': 'note',
    })
  })
})

describe('taken literally', await skipWithout('postgres', 'rabbitmq', 'kafka'), () => {
  const places: readonly [string, (name: string) => Promise<ConsumerContract['source']>][] = [
    ['a queue of ours', async name => postgresQueue(name)],
    ['RabbitMQ', async name => queue(name)],
    [
      'Kafka',
      async name => {
        await ensureTopic({ bootstrap: await kafkaBootstrap() }, name, { partitions: 1 })
        return topic(name, { start: 'earliest' })
      },
    ],
  ]
  for (const [what, place] of places) {
    for (const risk of ['money', 'low value'] satisfies Risk[]) {
      test(`a consumer of ${what} starts with it, ${risk}`, async () => {
        const database = await createDatabase()
        const pool = createPool(database.url)
        try {
          await migrate(pool)
          const name = `advice_${process.pid}_${Math.random().toString(36).slice(2)}`
          await createQueue(pool, name)
          const changes: Changes = { name, risk, source: await place(name) }
          const consumer = consumerWith({ ...changes, retention: await advised(changes) })
          const running = await runConsumer(consumer as Consumer<unknown, SqlTransaction>, {
            databaseUrl: database.url,
            rabbitmqUrl: await rabbitmqUrl(),
            kafkaBootstrap: await kafkaBootstrap(),
          })
          await running.drain()
          await running.finished
        } finally {
          await pool.end()
          await database.drop()
        }
      })
    }
  }
})
