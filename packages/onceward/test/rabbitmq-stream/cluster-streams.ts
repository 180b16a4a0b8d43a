import type { TestContext } from 'node:test'
import { queryNodes } from '../../src/drivers/rabbitmq-stream/wire/commands.ts'
import { until } from '../../src/testing/until.ts'
import type { ClusterNode, RabbitmqCluster } from '../services/rabbitmq-cluster.ts'
import { connectClient, randomName } from './broker.ts'
import { coordinatorIsStored } from './coordinator.ts'
import { openWatch } from './outside.ts'

/** A stream with a member on each node, led by the node it was made on. */
export async function createReplicated(cluster: RabbitmqCluster, by = cluster.nodes[0]): Promise<string> {
  const client = await connectClient(by.streamUrl)
  const name = randomName()
  await client.createStream({ stream: name, arguments: {} })
  await client.close()
  await untilServed(cluster, name)
  await untilKillable(cluster)
  return name
}

/** After the first stream was made: each node would find its streams again. */
export async function untilKillable(cluster: RabbitmqCluster): Promise<void> {
  await until('the nodes would find their streams again', () =>
    cluster.nodes.every(({ folder }) => coordinatorIsStored(folder)),
  )
}

/** Every node has a member of the stream, and knows its leader. */
export async function untilServed(cluster: RabbitmqCluster, stream: string): Promise<void> {
  for (const node of cluster.nodes)
    await until('the node has a member of the stream', async () => {
      const connection = await openWatch(node.streamUrl).catch(() => null)
      try {
        const { leader, all } = await queryNodes(connection!, stream)
        return leader !== null && all.length === cluster.nodes.length
      } catch {
        return false
      } finally {
        await connection?.close(1_000)
      }
    })
}

/** Confirmed by a majority of the nodes. */
export async function publish(by: ClusterNode, stream: string, bodies: readonly string[]): Promise<void> {
  const client = await connectClient(by.streamUrl)
  try {
    const publisher = await client.declarePublisher({ stream })
    const confirmed = new Set<bigint>()
    publisher.on('publish_confirm', (_error, ids) => {
      for (const id of ids) confirmed.add(id)
    })
    for (const body of bodies) await publisher.send(Buffer.from(body))
    await publisher.flush()
    await until('all is confirmed', () => confirmed.size === bodies.length)
  } finally {
    await client.close()
  }
}

/** Who leads the stream, as this node knows it; null while nobody does. */
export async function leaderOf(
  cluster: RabbitmqCluster,
  stream: string,
  asked: ClusterNode = cluster.nodes[0],
): Promise<ClusterNode | null> {
  const connection = await openWatch(asked.streamUrl).catch(() => null)
  if (connection === null) return null
  try {
    const { leader } = await queryNodes(connection, stream)
    return cluster.nodes.find(({ ports }) => leader?.endsWith(`:${ports.stream}`)) ?? null
  } catch {
    return null
  } finally {
    await connection.close(1_000)
  }
}

export async function untilLed(
  cluster: RabbitmqCluster,
  stream: string,
  by: (leader: ClusterNode) => boolean,
  asked?: ClusterNode,
): Promise<ClusterNode> {
  let leader: ClusterNode | null = null
  await until('the stream has such a leader', async () => {
    leader = await leaderOf(cluster, stream, asked)
    return leader !== null && by(leader)
  })
  return leader!
}

/** Nodes that a test has frozen, killed or cut off are whole again when it ends. */
export function healAfter(t: TestContext, cluster: RabbitmqCluster): void {
  t.after(async () => {
    for (const node of cluster.nodes) node.resume()
    await Promise.all(cluster.nodes.map(node => node.isRunning() || node.start()))
    await cluster.formed()
  })
}
