import { after, before, describe, test } from 'node:test'
import { openScene } from '../rebalance/scene.ts'
import { assertInvariants } from '../rebalance/through-everything.ts'
import { skipWithout } from '../services/services.ts'
import { type KafkaCluster, replicated, startKafkaCluster } from './kafka-cluster.ts'

describe('a rolling restart of three Kafka brokers under load', {
  timeout: 580_000,
  ...(await skipWithout('postgres', 'kafka')),
}, () => {
  let cluster: KafkaCluster
  before(async () => {
    cluster = await startKafkaCluster()
  })
  after(() => cluster?.close())

  test('every broker is restarted in turn: nothing lost, doubled or declared lost', async t => {
    const options = { memory: 'nothing but the position', protocol: 'consumer' } as const
    const scene = await openScene(t, {
      ...options,
      zombie: 'learns first',
      bootstrap: cluster.bootstrap,
      topic: replicated,
    })
    const members = [await scene.join()]
    scene.load.start()
    scene.watch.start()
    await scene.allApply(members)
    for (const node of [1, 2, 3]) {
      await cluster.stop(node)
      await scene.allApply(members)
      await cluster.start(node)
      await cluster.untilInSync(scene.name)
    }
    await scene.finish(members)
    await assertInvariants(scene, options.memory)
  })
})
