import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KafkaConnections } from '../../src/drivers/kafka/client/connections.ts'
import type { FetchEvents } from '../../src/drivers/kafka/client/kafka-client.ts'
import { WireFetcher } from '../../src/drivers/kafka/client/wire-fetcher.ts'
import type { FetchedPartition } from '../../src/drivers/kafka/fetch-response.ts'
import { PartitionProgress } from '../../src/drivers/log/partition-progress.ts'
import type { OncewardError } from '../../src/errors.ts'
import { until } from '../../src/testing/until.ts'

/** A fetcher whose leader answers every question about partition 0 alike. */
function fetcherOf(answer: Partial<FetchedPartition>, events: Partial<FetchEvents>) {
  const asked = { times: 0 }
  const partition: FetchedPartition = {
    topicId: 'i',
    partition: 0,
    errorCode: 0,
    highWatermark: 0n,
    lastStableOffset: 0n,
    logStartOffset: 0n,
    aborted: [],
    diverging: null,
    records: Buffer.alloc(0),
    ...answer,
  }
  const connection = {
    send: (...given: unknown[]) => {
      asked.times++
      const answered = given.at(-1) as (error: null, value: unknown) => void
      setImmediate(() => answered(null, { errorCode: 0, partitions: [partition] }))
    },
  }
  const leader = { partition: 0, leader: 1, leaderEpoch: 0 }
  const connections = {
    findTopic: async () => ({ name: 't', id: 'i', partitions: [leader] }),
    connect: async () => connection,
  } as unknown as KafkaConnections
  const fetcher = new WireFetcher({
    connections,
    settings: { topic: 't', isolation: 'committed' },
    boundsOf: async () => ({ start: 0, end: 0, leaderEpoch: 0 }),
    events: { wants: () => true, ...events } as FetchEvents,
  })
  return { fetcher, asked }
}

test('a partition that the user may not read is refused, and not requested again', async t => {
  const refused: OncewardError[] = []
  const topicAuthorizationFailed = 29
  const { fetcher, asked } = fetcherOf(
    { errorCode: topicAuthorizationFailed },
    { onRefused: error => refused.push(error), onWarning: () => {} },
  )
  t.after(() => fetcher.close())
  fetcher.add(0, new PartitionProgress('t/0', 1, { incarnation: 'i', next: '0' }), 0, -1)
  await until('it is refused', () => refused.length === 1)
  assert.equal(refused[0]!.code, 'configuration')
  assert.match(refused[0]!.message, /t\/0.*permission.*TOPIC_AUTHORIZATION_FAILED/s)
  assert.equal(asked.times, 1)
})
