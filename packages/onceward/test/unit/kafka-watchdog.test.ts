import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Fetcher, KafkaClient } from '../../src/drivers/kafka/client/kafka-client.ts'
import type { PartitionLease } from '../../src/drivers/kafka/committer.ts'
import { Watchdog } from '../../src/drivers/kafka/watchdog.ts'
import { PartitionProgress } from '../../src/drivers/log/partition-progress.ts'
import { until } from '../../src/testing/until.ts'

function rig(t: TestContext) {
  const read = { at: 5, end: 5, silentMs: 0 }
  const facts = { id: 'i', partitions: 2 }
  const stalls: { reason: string; isWorse: boolean }[] = []
  const grown: string[] = []
  const progress = new PartitionProgress('t/0', 1, { incarnation: 'i', next: '5' })
  const lease: PartitionLease = {
    partition: 0,
    progress,
    member: { id: 'm', epoch: 1, live: true },
    metadata: '',
    confirmed: '5',
  }
  let looks = 0
  const unread: number[] = []
  const watchdog = new Watchdog({
    client: { describe: async () => facts } as unknown as KafkaClient,
    fetcher: {
      positionOf: () => read.at,
      endOf: () => read.end,
      silentMs: () => read.silentMs,
    } as unknown as Fetcher,
    partitions: 2,
    leases: () => {
      looks++
      return [lease]
    },
    unread: () => unread,
    onStall: (reason, isWorse) => stalls.push({ reason, isWorse }),
    onPartitions: (before, after) => grown.push(`${before} → ${after}`),
    lookMs: 5,
    stallMs: 50,
    describeMs: 5,
  })
  t.after(() => watchdog.close())
  const keepAlive = setInterval(() => {}, 1_000)
  t.after(() => clearInterval(keepAlive))
  const afterLooks = (count: number) => {
    const seen = looks
    return until(`it has looked ${count} times`, () => looks >= seen + count)
  }
  return { read, facts, stalls, grown, progress, unread, afterLooks }
}

describe('the watchdog', () => {
  test('reports nothing for partitions without records, with progress, or in work', async t => {
    const { read, stalls, progress, afterLooks } = rig(t)
    await afterLooks(60)
    read.end = 1_000_000
    const moving = setInterval(() => read.at++, 2)
    await afterLooks(60)
    clearInterval(moving)
    progress.hand({ progress, next: '7', bytes: 1, timestampMs: null, settled: false })
    await afterLooks(60)
    assert.deepEqual(stalls, [])
  })

  test('reports a partition that stalls before records, and then one that a reconnect did not help', async t => {
    const { read, stalls } = rig(t)
    read.end = 9
    await until('it barks', () => stalls.length === 1)
    assert.match(stalls[0]!.reason, /t\/0/)
    assert.equal(stalls[0]!.isWorse, false)
    await until('it barks again', () => stalls.length === 2)
    assert.equal(stalls[1]!.isWorse, true)
  })

  test('reports a partition without answers of the broker, and one without a reader', async t => {
    const { read, stalls, unread } = rig(t)
    read.silentMs = 1_000
    await until('it barks', () => stalls.some(({ reason }) => /t\/0/.test(reason)))
    read.silentMs = 0
    unread.push(3)
    await until('it barks', () => stalls.some(({ reason }) => /partition 3/.test(reason)))
  })

  test('notices partitions that were added, once', async t => {
    const { facts, grown, afterLooks } = rig(t)
    facts.partitions = 4
    await until('it is told', () => grown.length === 1)
    await afterLooks(5)
    assert.deepEqual(grown, ['2 → 4'])
  })
})
