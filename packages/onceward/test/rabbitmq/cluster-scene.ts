import { setTimeout } from 'node:timers/promises'
import { connect } from 'amqplib'
import { until } from 'onceward/testing'
import { askNode, type ClusterNode, type RabbitmqCluster } from '../services/rabbitmq-cluster.ts'

export const deadlineMs = 120_000
/** A queue without a leader answers nothing: the next node is asked. */
const attemptMs = 10_000

/** Names every node. */
export function amqpAddress({ nodes }: RabbitmqCluster): string {
  return `amqp://guest:guest@${nodes.map(node => new URL(node.url).host).join()}/%2F`
}

type Channel = Awaited<ReturnType<Awaited<ReturnType<typeof connect>>['createConfirmChannel']>>

/** A queue whose leader died takes writes again when another was elected. */
export async function onAny(
  nodes: readonly ClusterNode[],
  work: (channel: Channel) => Promise<void>,
): Promise<void> {
  let turn = 0
  await until(
    'a node takes it',
    async () => {
      const model = await connect(nodes[turn++ % nodes.length]!.url, { timeout: 5_000 }).catch(() => null)
      if (model === null) return false
      model.on('error', () => {})
      const done = model
        .createConfirmChannel()
        .then(channel => {
          channel.on('error', () => {})
          return work(channel)
        })
        .then(
          () => true,
          () => false,
        )
      const late = setTimeout(attemptMs, false)
      return Promise.race([done, late]).finally(() => void model.close().catch(() => {}))
    },
    { deadlineMs },
  )
}

interface Connection {
  readonly node: string
  readonly client_properties?: { readonly connection_name?: string }
}

/** The node that a connection of this name is on. */
export async function nodeOf(nodes: readonly ClusterNode[], name: string): Promise<ClusterNode> {
  let found: ClusterNode | undefined
  await until(
    `${name} is connected`,
    async () => {
      for (const node of nodes) {
        const all = (await askNode<Connection[]>(node, 'connections')) ?? []
        // A node that was killed may still be listed with the connection it had.
        const places = all.filter(({ client_properties }) => client_properties?.connection_name === name)
        found = nodes.find(candidate => places.some(place => place.node === candidate.name))
        if (found !== undefined) return true
      }
      return false
    },
    { deadlineMs },
  )
  return found!
}
