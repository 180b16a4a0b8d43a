import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import type { RabbitmqCluster } from '../services/rabbitmq-cluster.ts'
import { createReplicated, untilKillable } from './cluster-streams.ts'
import { type Reader, type Reading, readOn, type Writer, writeOn } from './load.ts'

export interface Load {
  readonly stream: string
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
  const streams = superStream ? partitionsOf(stream) : [stream]
  const checkpoints = new MemoryCheckpoints()
  const writer = writeOn(
    cluster.nodes.map(({ streamUrl }) => streamUrl),
    streams,
  )
  t.after(() => writer.stop())
  const reading: Reading = { seen: new Set(), twice: [] }
  const readers: Reader[] = []
  for (let index = 0; index < count; index++) {
    const { streamUrl } = cluster.nodes[(index + 1) % cluster.nodes.length]!
    const reader = await readOn(streamUrl, checkpoints, reading, { stream, superStream })
    t.after(() => reader.subscription.close())
    readers.push(reader)
  }
  const load = { stream, checkpoints, writer, readers }
  await readsOn(load)
  return load
}

const partitions = ['0', '1', '2']
const partitionsOf = (superStream: string) => partitions.map(key => `${superStream}-${key}`)

async function createSuperStream(cluster: RabbitmqCluster): Promise<string> {
  const name = `super-${process.hrtime.bigint()}`
  await cluster.nodes[0].ctl(
    'rabbitmq-streams',
    'add_super_stream',
    name,
    '--binding-keys',
    partitions.join(),
  )
  await untilKillable(cluster)
  return name
}

export async function readsOn({ readers }: Load): Promise<void> {
  const { seen } = readers[0]!
  const before = seen.size
  const isOn = () => seen.size > before + 2_000 || failed(readers)
  await until('records are read', isOn, { deadlineMs: 90_000 }).catch(error => {
    throw new Error(JSON.stringify(readers.map(({ events }) => events.slice(-5))), { cause: error })
  })
  assertSound(readers)
}

export async function allReadOnce({ writer, readers, checkpoints }: Load): Promise<void> {
  await writer.stop()
  const { seen, twice } = readers[0]!
  const isRead = () => [...writer.confirmed].every(id => seen.has(id)) || failed(readers)
  await until('everything confirmed is read', isRead, { deadlineMs: 90_000 })
  assertSound(readers)
  assert.deepEqual(twice, [])
  assert.deepEqual([checkpoints.losses, checkpoints.withdrawn], [[], []])
}

const failed = (readers: readonly Reader[]) => readers.some(reader => reader.failed !== null)

function assertSound(readers: readonly Reader[]): void {
  for (const reader of readers) assert.equal(reader.failed, null)
}
