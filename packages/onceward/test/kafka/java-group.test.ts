import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { randomName } from './fixture.ts'
import { startJavaConsumer } from './java-consumer.ts'
import { consume, openCluster, openReader } from './reader.ts'

describe("in one group with Kafka's own consumer", await skipWithout('kafka'), () => {
  for (const protocol of ['classic', 'consumer'] as const) {
    for (const leads of ['ours', 'theirs'] as const) {
      test(`${protocol}: ${leads} joins first, both share, and the last one has all`, async t => {
        const kafka = await openCluster(t)
        const topic = await kafka.createTopic({ partitions: 4 })
        const group = randomName('group')
        const shared = { group, protocol, checkpoints: new MemoryCheckpoints() }
        const start = () => startJavaConsumer(t, { bootstrap: kafka.bootstrap, topic, group, protocol })
        const theirsFirst = leads === 'theirs' ? await start() : null
        let sent = 0
        const send = async () => {
          const records = Array.from({ length: 4 }, (_, partition) => ({ value: `m${sent++}`, partition }))
          await kafka.produce(topic, records)
        }
        await send()
        if (theirsFirst !== null) await until('theirs reads', () => theirsFirst.seen.length > 0)
        const ours = await openReader(kafka, topic, shared)
        const seen = consume(ours)
        const theirs = theirsFirst ?? (await start())
        await until('both read', async () => {
          await send()
          return (
            ours.owned().length === 2 &&
            theirs.seen.length > (theirsFirst === null ? 0 : 4) &&
            seen.length > 0
          )
        })
        await theirs.stop()
        await ours.untilOwns(4)
        await send()
        const all = () => new Set([...seen, ...theirs.seen])
        await until('everything was read by one of them', () => all().size === sent)
        assert.equal(seen.length, new Set(seen).size, 'nothing came twice to us')
      })
    }
  }
})
