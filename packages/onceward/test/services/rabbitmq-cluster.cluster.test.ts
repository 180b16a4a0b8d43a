import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, it } from 'node:test'
import { nodeProcesses } from '../../../../scripts/services/rabbitmq-node.ts'
import { skipWithoutPrivateRabbitmq } from './private-rabbitmq.ts'
import { startRabbitmqCluster } from './rabbitmq-cluster.ts'

const pauseMinority = { configuration: () => ['cluster_partition_handling = pause_minority'] }

for (const version of ['4.0', '4.3'] as const) {
  describe(`a cluster of RabbitMQ ${version}`, async () => {
    const skip = await skipWithoutPrivateRabbitmq(version)

    it('loses and rejoins each of its nodes, and leaves no process behind', skip, async () => {
      const cluster = await startRabbitmqCluster({ version, ...pauseMinority })
      const [first, second, third] = cluster.nodes
      await first.kill()
      await cluster.formed([second, third])
      await first.start()
      await cluster.formed()
      await second.stop()
      await cluster.formed([first, third])
      await second.start()
      await cluster.formed()
      await third.isolate()
      await cluster.formed([first, second])
      await third.rejoin()
      await cluster.formed()
      await cluster.close()
      for (const { name } of cluster.nodes) assert.deepEqual(nodeProcesses(name.split('@')[0]!), [])
      assert.equal(existsSync(dirname(first.folder)), false)
    })
  })
}
