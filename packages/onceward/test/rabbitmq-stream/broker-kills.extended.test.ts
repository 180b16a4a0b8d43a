import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithoutPrivateRabbitmq, startPrivateRabbitmq } from '../services/private-rabbitmq.ts'
import { connectClient } from './broker.ts'
import { coordinatorIsStored } from './coordinator.ts'
import { readOn, writeOn } from './load.ts'

const kills = 4
const records = 6_000

describe('a broker that is killed under load', await skipWithoutPrivateRabbitmq(), () => {
  test('causes no declared loss, and every record is read once', {
    timeout: 240_000,
  }, async t => {
    const broker = await startPrivateRabbitmq()
    t.after(() => broker.close())
    const client = await connectClient(broker.streamUrl)
    await client.createStream({ stream: 'log', arguments: {} })
    await client.close()

    const writer = writeOn([broker.streamUrl])
    t.after(() => writer.stop())
    await until('the stream has grown', () => writer.confirmed.size > records, { deadlineMs: 60_000 })
    await until('the broker would find its streams again', () => coordinatorIsStored(broker.folder), {
      deadlineMs: 60_000,
    })
    const checkpoints = new MemoryCheckpoints()
    const reader = await readOn(broker.streamUrl, checkpoints)
    t.after(() => reader.subscription.close())
    for (let kill = 1; kill <= kills; kill++) {
      await until('the reader has read', () => reader.seen.size > kill * 1_000, { deadlineMs: 60_000 })
      const assigned = reader.assigned()
      await broker.kill()
      await broker.start()
      await until('the reader reads again', () => reader.assigned() > assigned || reader.failed !== null, {
        deadlineMs: 60_000,
      })
      assert.equal(reader.failed, null, `after kill ${kill}`)
    }
    await writer.stop()
    const missing = () => [...writer.confirmed].filter(id => !reader.seen.has(id)).length
    await until('everything confirmed is read', () => missing() === 0 || reader.failed !== null, {
      deadlineMs: 60_000,
    })
    assert.equal(reader.failed, null)
    assert.deepEqual(reader.twice, [], 'positions were stored with each batch: nothing is handed over twice')
    assert.deepEqual([checkpoints.losses, checkpoints.withdrawn], [[], []])
  })
})
