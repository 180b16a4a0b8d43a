import { after, before, describe, test } from 'node:test'
import { skipWithoutPrivateRabbitmq } from '../services/private-rabbitmq.ts'
import { type RabbitmqCluster, startRabbitmqCluster } from '../services/rabbitmq-cluster.ts'
import { allReadOnce, readsOn, underLoad } from './cluster-load.ts'
import { healAfter, untilLed } from './cluster-streams.ts'

const skip = await skipWithoutPrivateRabbitmq()

describe('a stream on a cluster of three', { timeout: 300_000, ...skip }, () => {
  let cluster: RabbitmqCluster
  before(async () => {
    cluster = await startRabbitmqCluster()
  })
  after(() => cluster?.close())

  test('whose leader is killed under load loses and repeats nothing', async t => {
    healAfter(t, cluster)
    const load = await underLoad(t, cluster)
    const { stream } = load
    const killed = await untilLed(cluster, stream, () => true)
    await killed.kill()
    const [asked] = cluster.nodes.filter(node => node !== killed)
    await untilLed(cluster, stream, leader => leader !== killed, asked)
    await readsOn(load)
    await killed.start()
    await allReadOnce(load)
  })

  test('whose nodes are restarted one by one under load loses and repeats nothing', async t => {
    healAfter(t, cluster)
    const load = await underLoad(t, cluster)
    for (const node of cluster.nodes) {
      await node.stop()
      await readsOn(load)
      await node.start()
      await cluster.formed()
    }
    await allReadOnce(load)
  })

  test("is read from another node when the reader's node is cut off and still accepts connections", async t => {
    healAfter(t, cluster)
    const load = await underLoad(t, cluster)
    // The reader knows only the address of the second one, which does not pause: this cluster ignores
    // partitions.
    const [first, cutOff, third] = cluster.nodes
    await cutOff.isolate()
    await untilLed(cluster, load.stream, leader => leader !== cutOff, first)
    await readsOn(load)
    await cluster.formed([first, third])
    // A cluster that was parted so heals by a restart of the smaller part.
    await cutOff.kill()
    await cutOff.start()
    await cluster.formed()
    await allReadOnce(load)
  })
})
