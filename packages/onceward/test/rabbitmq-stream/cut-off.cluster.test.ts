import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { skipWithoutPrivateRabbitmq } from '../services/private-rabbitmq.ts'
import { type RabbitmqCluster, startRabbitmqCluster } from '../services/rabbitmq-cluster.ts'
import { numbers, openStream, text } from './broker.ts'
import { createReplicated, healAfter, publish, untilLed } from './cluster-streams.ts'

const skip = await skipWithoutPrivateRabbitmq()

describe('a stream whose leader is cut off from the others', { timeout: 600_000, ...skip }, () => {
  let cluster: RabbitmqCluster
  before(async () => {
    cluster = await startRabbitmqCluster()
  })
  after(() => cluster?.close())

  test('is recognised when its leader crashed before it replicated the mark of the first reader', async t => {
    healAfter(t, cluster)
    const [leader, ...others] = cluster.nodes
    const stream = await createReplicated(cluster, leader)
    await publish(leader, stream, numbers(0, 10))
    const checkpoints = new MemoryCheckpoints()
    const log = { progress: 'only' as const, checkpoints }
    await leader.isolate()
    const first = await openStream(t, stream, { url: leader.streamUrl, start: 'first' }, { log })
    // It begins only when a majority has its mark.
    await Promise.race([first.event('assigned'), first.event('disconnected')])
    await leader.kill()
    await untilLed(cluster, stream, now => now !== leader, others[0])
    await first.subscription.close()
    const second = await openStream(t, stream, { url: others[0]!.streamUrl, start: 'first' }, { log })
    assert.deepEqual(text(await second.take(10)), numbers(0, 10))
    assert.deepEqual(checkpoints.losses, [])
  })

  test('is not declared shorter by a leader that was cut off and deposed', async t => {
    healAfter(t, cluster)
    const [deposed, ...others] = cluster.nodes
    const stream = await createReplicated(cluster, deposed)
    await publish(deposed, stream, numbers(0, 10))
    const checkpoints = new MemoryCheckpoints()
    const log = { progress: 'only' as const, checkpoints }
    await deposed.isolate()
    await untilLed(cluster, stream, now => now !== deposed, others[0])
    await publish(others[0]!, stream, numbers(10, 20))
    const first = await openStream(t, stream, { url: others[0]!.streamUrl, start: 'first' }, { log })
    const taken = await first.take(20)
    checkpoints.advance(first.subscription.log!.progressWith(taken, taken))
    await first.subscription.close()

    const second = await openStream(t, stream, { url: deposed.streamUrl }, { log })
    const failed = second.subscription.receive(1).then(
      () => null,
      error => error,
    )
    await second.event('disconnected')
    assert.deepEqual(checkpoints.losses, [])
    // Under 4.0 a cluster that was parted heals by a restart of the smaller part.
    await deposed.kill()
    await deposed.start()
    await cluster.formed()
    await publish(others[0]!, stream, ['new'])
    assert.equal(await failed, null)
    assert.deepEqual(checkpoints.losses, [])
  })
})
