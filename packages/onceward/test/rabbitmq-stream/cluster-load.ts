import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import type { RabbitmqCluster } from '../services/rabbitmq-cluster.ts'
import { connectClient, randomName } from './broker.ts'
import { createReplicated, publish, untilKillable, untilServed } from './cluster-streams.ts'
import { newReading, type Reader, readOn, type Writer, writeOn } from './load.ts'
import { firstDifference, readUpTo } from './written.ts'

/** RabbitMQ 4.3 keeps the place of an active reader whose node died for 60 s before another one gets it. */
const deadlineMs = 150_000

export interface Load {
  readonly cluster: RabbitmqCluster
  readonly stream: string
  /** Of a super stream; else the stream itself. */
  readonly partitions: readonly string[]
  readonly checkpoints: MemoryCheckpoints
  readonly writer: Writer
  /** Of one group; each entered by another node. */
  readonly readers: readonly Reader[]
}

/** A writer and readers that have begun to read. */
export async function underLoad(
  t: TestContext,
  cluster: RabbitmqCluster,
  { readers: count = 1, superStream = false } = {},
): Promise<Load> {
  const stream = superStream ? await createSuperStream(cluster) : await createReplicated(cluster)
  const partitions = superStream ? partitionsOf(stream) : [stream]
  const checkpoints = new MemoryCheckpoints()
  const writer = writeOn(
    cluster.nodes.map(({ streamUrl }) => streamUrl),
    partitions,
  )
  t.after(() => writer.stop())
  const reading = newReading()
  const readers: Reader[] = []
  for (let index = 0; index < count; index++) {
    const { streamUrl } = cluster.nodes[(index + 1) % cluster.nodes.length]!
    const reader = await readOn(streamUrl, checkpoints, reading, { stream, superStream })
    t.after(() => reader.subscription.close())
    readers.push(reader)
  }
  const load = { cluster, stream, partitions, checkpoints, writer, readers }
  await readsOn(load)
  return load
}

const partitionsOf = (superStream: string) => ['0', '1', '2'].map(key => `${superStream}-${key}`)

async function createSuperStream(cluster: RabbitmqCluster): Promise<string> {
  const name = randomName()
  const client = await connectClient(cluster.nodes[0].streamUrl)
  await client.createSuperStream({ streamName: name, arguments: {} }, undefined, 3)
  await client.close()
  for (const partition of partitionsOf(name)) await untilServed(cluster, partition)
  await untilKillable(cluster)
  return name
}

export async function readsOn({ readers }: Load): Promise<void> {
  const { seen } = readers[0]!
  const before = seen.size
  const isOn = () => seen.size > before + 2_000 || failed(readers)
  await until('records are read', isOn, { deadlineMs }).catch(error => {
    throw new Error(JSON.stringify(readers.map(({ events }) => events.slice(-5))), { cause: error })
  })
  assertSound(readers)
}

/**
 * With all nodes up: each partition was applied as it is written, every record once and in its order. Nobody
 * spoke of a loss.
 */
export async function allReadOnce(load: Load): Promise<void> {
  const { cluster, writer, readers, checkpoints, partitions } = load
  await writer.stop()
  const { seen, twice, applied } = readers[0]!
  for (const partition of partitions) await publish(cluster.nodes[0], partition, [`end of ${partition}`])
  const isRead = () => partitions.every(partition => seen.has(`end of ${partition}`)) || failed(readers)
  await until('everything is read', isRead, { deadlineMs }).catch(error => {
    throw new Error(JSON.stringify(readers.map(({ events }) => events.slice(-5))), { cause: error })
  })
  assertSound(readers)
  assert.deepEqual(twice, [])
  assert.deepEqual([checkpoints.losses, checkpoints.withdrawn], [[], []])
  const lost = [...writer.confirmed].filter(id => !seen.has(id))
  assert.deepEqual(lost.slice(0, 5), [], 'all that was confirmed is read')
  for (const partition of partitions) {
    const end = `end of ${partition}`
    const written = await readUpTo(end, partition, cluster.nodes[0].streamUrl)
    const upToEnd = applied.get(partition)!.slice(0, applied.get(partition)!.indexOf(end) + 1)
    assert.equal(firstDifference(upToEnd, written), null)
  }
  for (const { subscription } of readers) assert.equal(subscription.stalled!(), null)
}

const failed = (readers: readonly Reader[]) => readers.some(reader => reader.failed !== null)

function assertSound(readers: readonly Reader[]): void {
  for (const reader of readers) assert.equal(reader.failed, null)
}
