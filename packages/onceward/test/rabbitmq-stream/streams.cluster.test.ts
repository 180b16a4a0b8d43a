import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { until } from '../../src/testing/until.ts'
import { skipWithoutPrivateRabbitmq } from '../services/private-rabbitmq.ts'
import { type RabbitmqCluster, startRabbitmqCluster } from '../services/rabbitmq-cluster.ts'
import { allReadOnce, readsOn, underLoad } from './cluster-load.ts'
import { healAfter, untilLed } from './cluster-streams.ts'

for (const version of ['4.0', '4.3'] as const) {
  const skip = await skipWithoutPrivateRabbitmq(version)

  describe(`streams on a cluster of RabbitMQ ${version}`, { timeout: 900_000, ...skip }, () => {
    let cluster: RabbitmqCluster
    before(async () => {
      const configuration = () => ['cluster_partition_handling = pause_minority']
      cluster = await startRabbitmqCluster({ version, configuration })
    })
    after(() => cluster?.close())

    test('whose leader is killed again and again under load lose and repeat nothing', async t => {
      healAfter(t, cluster)
      const load = await underLoad(t, cluster, { readers: 2 })
      for (let kill = 0; kill < 4; kill++) {
        const leader = await untilLed(cluster, load.stream, () => true)
        await leader.kill()
        await readsOn(load)
        await leader.start()
        await cluster.formed()
      }
      await allReadOnce(load)
    })

    test('whose nodes are restarted one by one lose and repeat nothing: a super stream, two readers', async t => {
      healAfter(t, cluster)
      const load = await underLoad(t, cluster, { readers: 2, superStream: true })
      for (const node of cluster.nodes) {
        await node.stop()
        await readsOn(load)
        await node.start()
        await cluster.formed()
      }
      await allReadOnce(load)
    })

    test('are waited for while two of three nodes are down', async t => {
      healAfter(t, cluster)
      const load = await underLoad(t, cluster)
      const [first, second] = cluster.nodes
      await Promise.all([first.kill(), second.kill()])
      const { events } = load.readers[0]!
      const before = events.length
      await until('the reader has noticed', () =>
        events.slice(before).some(({ kind }) => kind === 'disconnected'),
      )
      assert.equal(load.readers[0]!.failed, null)
      await Promise.all([first.start(), second.start()])
      await cluster.formed()
      await readsOn(load)
      await allReadOnce(load)
    })

    test('are read on the side of the majority when the node of the reader is cut off', async t => {
      healAfter(t, cluster)
      const load = await underLoad(t, cluster)
      // The reader has entered by the second one.
      const [first, cutOff, third] = cluster.nodes
      await cutOff.isolate()
      await untilLed(cluster, load.stream, leader => leader !== cutOff, first)
      await cluster.formed([first, third])
      await readsOn(load)
      await cutOff.rejoin()
      await cluster.formed()
      await allReadOnce(load)
    })
  })
}
