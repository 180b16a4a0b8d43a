import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { LogSubscription } from '../../src/drivers/log/log-subscription.ts'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { connectClient, createTestStream, openStream, randomName } from './broker.ts'

describe('a super stream', { timeout: 240_000, ...(await skipWithout('rabbitmq')) }, () => {
  test('continues in a partition that returns to a process that had no room when it left', async t => {
    const { url, publishTo } = await createTestStream(t)
    const name = randomName()
    const client = await connectClient(url)
    await client.createSuperStream({ streamName: name, arguments: {} }, undefined, 2)
    t.after(async () => {
      await client.deleteSuperStream({ streamName: name })
      await client.close()
    })
    // With two processes the broker gives the second partition to the second one.
    const moving = `${name}-1`
    const large = 'x'.repeat(300_000)
    for (let chunk = 0; chunk < 20; chunk++) await publishTo(moving, [large])
    const given = { log: { checkpoints: new MemoryCheckpoints() } }
    const options = { superStream: true, start: 'first' } as const
    const first = await openStream(t, name, options, given)
    const log = first.subscription as LogSubscription
    await until('it has read ahead what it may', () => log.readAhead(moving) > 0 && !log.wants(moving))
    const second = await openStream(t, name, options, given)
    await second.event('assigned')
    await second.subscription.close()
    await first.event('assigned', 3)
    assert.equal((await first.take(20)).length, 20)
  })
})
