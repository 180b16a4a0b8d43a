import { after, before, describe, test } from 'node:test'
import { until } from 'onceward/testing'
import type { RabbitmqVersion } from '../../../../scripts/services/rabbitmq-root.ts'
import { healAfter } from '../rabbitmq-stream/cluster-streams.ts'
import { skipWithoutPrivateRabbitmq } from '../services/private-rabbitmq.ts'
import { type RabbitmqCluster, startRabbitmqCluster } from '../services/rabbitmq-cluster.ts'
import { deadlineMs, nodeOf } from './cluster-scene.ts'
import { nodesAreKilled } from './nodes-are-killed.ts'
import { underLoad, untilQueueLed } from './queue-load.ts'

const kills = 3

/** What may happen to a cluster that a quorum queue is on. One version for each file: they take minutes. */
export async function queueScenes(version: RabbitmqVersion): Promise<void> {
  const skip = await skipWithoutPrivateRabbitmq(version)

  describe(`a quorum queue on three nodes of RabbitMQ ${version}`, { timeout: 580_000, ...skip }, () => {
    let cluster: RabbitmqCluster
    before(async () => {
      const configuration = () => ['cluster_partition_handling = pause_minority']
      cluster = await startRabbitmqCluster({ version, configuration })
    })
    after(() => cluster?.close())

    test('the node of its leader is killed repeatedly: nothing is lost or applied twice', async t => {
      healAfter(t, cluster)
      const load = await underLoad(t, cluster, 'led')
      for (let kill = 0; kill < kills; kill++) {
        const leader = await untilQueueLed(cluster.nodes, load.queue)
        await leader.kill()
        await load.worksOn()
        await leader.start()
        await cluster.formed()
      }
      await load.allAppliedOnce()
    })

    test('its consumer’s node is cut off from the others: the majority works on, and all is applied once', async t => {
      healAfter(t, cluster)
      const load = await underLoad(t, cluster, 'parted')
      const minority = await nodeOf(cluster.nodes, 'onceward consumes parted')
      const majority = cluster.nodes.filter(one => one !== minority)
      await minority.isolate()
      await cluster.formed(majority)
      await untilQueueLed(majority, load.queue)
      await minority.rejoin()
      await cluster.formed()
      await load.worksOn()
      await load.allAppliedOnce()
    })

    test('its nodes are restarted one by one: nothing is lost or applied twice', async t => {
      healAfter(t, cluster)
      const load = await underLoad(t, cluster, 'rolled')
      for (const node of cluster.nodes) {
        await node.stop()
        await load.worksOn()
        await node.start()
        await cluster.formed()
      }
      await load.allAppliedOnce()
    })

    test('a consumer on a frozen node reports a stall, and continues at another node', async t => {
      healAfter(t, cluster)
      const load = await underLoad(t, cluster, 'frozen')
      const node = await nodeOf(cluster.nodes, 'onceward consumes frozen')
      node.freeze()
      const saysSo = () => load.running.health().reasons.some(one => /stalled|does not answer/.test(one))
      await until('it says so', saysSo, { deadlineMs })
      await until('it is on another node', () => load.running.health().ready, { deadlineMs })
      await nodeOf(
        cluster.nodes.filter(one => one !== node),
        'onceward consumes frozen',
      )
      await load.worksOn()
      node.resume()
      await load.worksOn()
      if (version === '4.0') {
        // It was taken for dead, and 4.0 takes a node back only when it restarts.
        await node.kill()
        await node.start()
      }
      await cluster.formed()
      await load.allAppliedOnce()
    })

    test('consumer and relay continue at the next node when theirs is killed, in a named environment', async t => {
      healAfter(t, cluster)
      await nodesAreKilled(t, cluster)
    })
  })
}
