import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { CrashPoint } from '../../src/crash-points.ts'
import { KafkaConnections } from '../../src/drivers/kafka/client/connections.ts'
import { TransactionalProducer } from '../../src/drivers/kafka/client/transactions.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { randomName } from './fixture.ts'
import { type KafkaCluster, startKafkaCluster } from './kafka-cluster.ts'
import { openCluster } from './reader.ts'

const point: CrashPoint = 'transform.repairing'
const options = { timeout: 900_000, ...(await skipWithout('kafka')) }

/** A producer in a process of its own: each act resolves once it is done. */
function startProducer(t: TestContext, given: Record<string, string>) {
  const file = join(import.meta.dirname, 'repairing-process.ts')
  const flags = ['--conditions=@onceward/source', file, JSON.stringify(given)]
  const child = spawn(process.execPath, flags, { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const done: string[] = []
  createInterface({ input: child.stdout }).on('line', line => void done.push(line))
  const ended = new Promise<string>(resolve =>
    child.once('exit', (code, signal) => resolve(signal ?? `exit ${code}`)),
  )
  const request = (act: string) => void child.stdin.write(`${act}\n`)
  const act = async (what: string) => {
    const before = done.length
    request(what)
    await until(`${what} is done`, () => done.length > before, { deadlineMs: 120_000 })
  }
  return { ended, request, act, started: () => until('it has started', () => done.length > 0) }
}

describe('a process that is killed while it ends a transaction again', options, () => {
  let cluster: KafkaCluster
  before(async () => {
    cluster = await startKafkaCluster()
  })
  after(() => cluster?.close())

  // The documented limit: no request of a client both names the partition and ends the transaction.
  test(`at ${point} loses the records of the partition without a marker, and nothing else`, async t => {
    const kafka = await openCluster(t, cluster.bootstrap)
    const topic = await kafka.createTopic()
    const node = await cluster.leaderOf(topic, 0)
    const connections = new KafkaConnections({ bootstrap: cluster.bootstrap })
    t.after(() => connections.close())
    let transactionalId = randomName('tx')
    while ((await connections.coordinator('transaction', transactionalId)).id === node)
      transactionalId = randomName('tx')
    const leaderIs = (wanted: number) =>
      until(
        `the leader is ${wanted}`,
        async () => (await kafka.connections.findTopic(topic))?.partitions[0]?.leader === wanted,
        { deadlineMs: 300_000 },
      )
    const dying = startProducer(t, { bootstrap: cluster.bootstrap, topic, transactionalId })
    await dying.started()
    await dying.act('send before')
    await dying.act('commit')
    await dying.act('send unmarked')
    await cluster.stop(node)
    await leaderIs(-1)
    await dying.act('commit')
    await cluster.start(node)
    await leaderIs(node)
    dying.request('send next')
    assert.equal(await dying.ended, 'SIGKILL')

    const heir = new TransactionalProducer(connections, { transactionalId, deliveryTimeoutMs: 120_000 })
    t.after(() => heir.close())
    await heir.start()
    await heir.send([
      { topic, partition: 0, key: null, value: Buffer.from('heir'), headers: [], timestampMs: 1 },
    ])
    await heir.commit()
    const values = async () => (await kafka.read(topic)).map(({ value }) => value)
    await until('readers go on', async () => (await values()).includes('heir'), { deadlineMs: 60_000 })
    assert.deepEqual(await values(), ['before', 'heir'])
  })
})
