import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { defineConsumer } from 'onceward'
import { topic } from 'onceward/kafka'
import { postgresQueue } from 'onceward/postgres'
import { oddConfigs, topicState } from '../../src/drivers/kafka/describe-cluster.ts'
import { openKafka } from '../kafka/fixture.ts'
import { startTcpProxy } from '../proxy/tcp-proxy.ts'
import {
  createDatabase,
  ensurePgbouncer,
  kafkaBootstrap,
  postgresUrl,
  skipWithout,
} from '../services/services.ts'
import { liveFindings } from './live-scene.ts'

type Lie = readonly [truth: string | Buffer, lie: string | Buffer]

/** Replaces bytes by as many others, so that lengths in frames stay true. */
function lying(lies: readonly Lie[]) {
  return (bytes: Buffer): Buffer => {
    const answer = Buffer.from(bytes)
    for (const [truth, lie] of lies) {
      const to = Buffer.from(lie)
      assert.equal(to.length, Buffer.from(truth).length)
      for (let at = answer.indexOf(truth); at >= 0; at = answer.indexOf(truth, at + to.length))
        to.copy(answer, at)
    }
    return answer
  }
}

const contract = {
  owner: 'tests',
  risk: 'low value' as const,
  identity: { id: (message: { id: string }) => message.id },
  handle() {},
}

/** A value of a row as the protocol sends it: its length, then its text. */
const value = (text: string) => {
  const length = Buffer.alloc(4)
  length.writeInt32BE(Buffer.byteLength(text))
  return Buffer.concat([length, Buffer.from(text)])
}
const row = (...values: readonly string[]) => Buffer.concat(values.map(value))

async function databaseFindings(t: TestContext, url: string, lies: readonly Lie[]) {
  const { hostname, port } = new URL(url)
  const proxy = await startTcpProxy({ host: hostname, port: Number(port) })
  t.after(() => proxy.close())
  proxy.toClient(lying(lies))
  const source = postgresQueue('q')
  return liveFindings([defineConsumer({ ...contract, name: 'lied_to', source }) as never], {
    databaseUrl: proxy.through(url),
    environment: 'production',
  })
}
const textOf = (found: Awaited<ReturnType<typeof liveFindings>>, id: string) =>
  found
    .filter(one => one.id === id)
    .map(one => one.found)
    .join('\n')

describe('PostgreSQL, or something in front of it, that lies', await skipWithout('postgres'), () => {
  const lies: Readonly<Record<string, readonly [readonly Lie[], RegExp]>> = {
    'has no setting fsync': [[[row('fsync', 'on'), row('fsynk', 'on')]], /reports no fsync/],
    'reports fsync as no PostgreSQL does': [
      [[row('fsync', 'on'), row('fsync', 'ok')]],
      /reports fsync as "ok"/,
    ],
    'reports synchronous_commit as no PostgreSQL does': [
      [[row('synchronous_commit', 'on'), row('synchronous_commit', 'no')]],
      /reports synchronous_commit as "no"/,
    ],
    'reports full_page_writes as no PostgreSQL does': [
      [[row('full_page_writes', 'on'), row('full_page_writes', '??')]],
      /reports full_page_writes as "\?\?"/,
    ],
    'says that it is a newer version than it is': [
      [[value(String(180_000 + 4)), value('190004')]],
      /its version is 190004, and that it is "PostgreSQL 18/,
    ],
    'is compatible with PostgreSQL only': [
      [[Buffer.from('PostgreSQL 18'), Buffer.from('CockroachDB23')]],
      /and that it is "CockroachDB23/,
    ],
  }
  for (const [title, [said, expected]] of Object.entries(lies))
    test(title, async t => {
      const database = await createDatabase()
      t.after(() => database.drop())
      assert.equal(textOf(await databaseFindings(t, database.url, []), 'OW902'), '')
      assert.match(textOf(await databaseFindings(t, database.url, said), 'OW902'), expected)
    })

  test('a pooler that passes on the process id of the server is still known', async t => {
    const bouncer = await ensurePgbouncer(await postgresUrl())
    if ('unavailable' in bouncer) return t.skip(bouncer.unavailable)
    const database = await createDatabase()
    t.after(() => database.drop())
    const url = new URL(bouncer.url)
    url.pathname = `/${database.name}`
    const proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) })
    t.after(() => proxy.close())
    let pid: number | null = null
    const announced: Buffer[] = []
    proxy.toClient(bytes => {
      const answer = Buffer.from(bytes)
      const at = answer.indexOf(Buffer.from([0x4b, 0, 0, 0, 12]))
      if (at >= 0) {
        announced.push(answer)
        if (pid !== null) answer.writeInt32BE(pid, at + 5)
      }
      return answer
    })
    const { createPool } = await import('onceward/postgres')
    const pool = createPool(url.href, { max: 1 })
    t.after(() => pool.end())
    pid = (await pool.query('select pg_backend_pid() as pid')).rows[0].pid
    const source = postgresQueue('q')
    const consumer = defineConsumer({ ...contract, name: 'lied_to', source }) as never
    const found = await liveFindings([consumer], { databaseUrl: proxy.through(url.href) })
    assert.ok(announced.length > 0)
    assert.match(textOf(found, 'OW408'), /transaction mode/)
  })
})

describe('a Kafka broker that lies', await skipWithout('kafka'), () => {
  async function kafkaFindings(t: TestContext, lies: readonly Lie[]) {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic({ partitions: 2 })
    const [host, port] = (await kafkaBootstrap())!.split(':') as [string, string]
    const proxy = await startTcpProxy({ host, port: Number(port) })
    t.after(() => proxy.close())
    // The broker announces its own port: without this the client would leave the proxy.
    const place = (at: number) => {
      const bytes = Buffer.alloc(4)
      bytes.writeInt32BE(at)
      return Buffer.concat([Buffer.from(host), bytes])
    }
    proxy.toClient(lying([[place(Number(port)), place(proxy.port)], ...lies]))
    const source = topic(name, { start: 'earliest' })
    const found = await liveFindings([defineConsumer({ ...contract, name: 'lied_to', source }) as never], {
      kafkaBootstrap: `${host}:${proxy.port}`,
    })
    assert.ok(proxy.bytesFromServer > 0)
    return textOf(found, 'OW902')
  }

  test('whose answers are true has nothing unknown', async t => {
    assert.doesNotMatch(await kafkaFindings(t, []), /reports/)
  })

  for (const name of [
    ...['min.insync.replicas', 'unclean.leader.election.enable', 'retention.ms', 'cleanup.policy'],
    ...['message.timestamp.type', 'retention.bytes', 'offsets.retention.minutes'],
  ])
    test(`leaves out ${name}`, async t => {
      assert.match(
        await kafkaFindings(t, [[name, `${name.slice(0, -1)}_`]]),
        new RegExp(`reports no ${name}`),
      )
    })

  test('answers a setting as no broker does', async t => {
    assert.match(
      await kafkaFindings(t, [[Buffer.from('\x06false'), Buffer.from('\x06maybe')]]),
      /reports unclean\.leader\.election\.enable as "maybe"/,
    )
  })

  const partition = (changes: object) =>
    ({
      errorCode: 0,
      partitionIndex: 0,
      leaderId: 1,
      replicaNodes: [1, 2, 3],
      isrNodes: [1, 2, 3],
      ...changes,
    }) as never
  const state = (...partitions: readonly never[]) =>
    topicState({ name: 't', partitions: partitions as never }, new Set([1, 2, 3]))

  test('lists no partitions, one leader that is no broker, or one copy several times', () => {
    assert.match(state().unasked!, /topic t: the broker lists no partitions/)
    assert.equal(state(partition({ leaderId: 9 })).leaderless, 1)
    assert.equal(state(partition({ replicaNodes: [1, 1, 1] })).replicas, 1)
    assert.equal(state(partition({ isrNodes: [1, 1, 7] })).inSync, 1)
  })

  test('reports numbers that are none', () => {
    const configs = new Map([['a', 'NaN']])
    assert.deepEqual(oddConfigs(configs, { a: /^\d+$/, b: /./ }, 'topic t'), [
      'topic t reports a as "NaN"',
      'topic t reports no b',
    ])
  })
})
