import { after, before, describe, test } from 'node:test'
import type { RabbitmqVersion } from '../../../../scripts/services/rabbitmq-root.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithoutPrivateRabbitmq } from '../services/private-rabbitmq.ts'
import { type RabbitmqCluster, startRabbitmqCluster } from '../services/rabbitmq-cluster.ts'
import { allReadOnce, readsOn, underLoad } from './cluster-load.ts'
import { healAfter, untilLed } from './cluster-streams.ts'
import { nodeOfConsumerIsKilled } from './consumer-scene.ts'

const kills = 4

/**
 * What may happen to a cluster that streams are written to and read from. One version for each file: they
 * take minutes.
 */
export async function streamScenes(version: RabbitmqVersion): Promise<void> {
  const skip = await skipWithoutPrivateRabbitmq(version)

  describe(`streams on a cluster of RabbitMQ ${version}`, { timeout: 580_000, ...skip }, () => {
    let cluster: RabbitmqCluster
    before(async () => {
      const configuration = () => ['cluster_partition_handling = pause_minority']
      cluster = await startRabbitmqCluster({ version, configuration })
    })
    after(() => cluster?.close())

    test('whose leader is killed repeatedly lose and repeat nothing', async t => {
      healAfter(t, cluster)
      const load = await underLoad(t, cluster, { readers: 2 })
      for (let kill = 0; kill < kills; kill++) {
        const leader = await untilLed(cluster, load.stream, () => true)
        await leader.kill()
        await readsOn(load)
        await leader.start()
        await cluster.formed()
      }
      await allReadOnce(load)
    })

    test('whose nodes are restarted one by one: a super stream that two readers share', async t => {
      healAfter(t, cluster)
      const load = await underLoad(t, cluster, { readers: 2, superStream: true })
      await until('both read', () => load.readers.every(({ count }) => count > 0))
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
      const [reader] = load.readers
      const before = reader!.events.length
      await Promise.all([first.kill(), second.kill()])
      const hasNoticed = () => reader!.events.slice(before).some(({ kind }) => kind === 'disconnected')
      await until('the reader has noticed', hasNoticed)
      await Promise.all([first.start(), second.start()])
      await cluster.formed()
      await readsOn(load)
      await allReadOnce(load)
    })

    test('are read on by a consumer in a named environment whose node is killed', async t => {
      healAfter(t, cluster)
      await nodeOfConsumerIsKilled(t, cluster)
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
