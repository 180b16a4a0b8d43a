import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runConsumer } from 'onceward'
import { topic } from 'onceward/kafka'
import { createPool } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { listAudit } from '../../src/operations/parking/verify-audit.ts'
import { listBrokers } from '../../src/operations/server/brokers.ts'
import { acceptServer, readRestore } from '../../src/operations/server/incarnations.ts'
import { openKafka } from '../kafka/fixture.ts'
import { startTcpProxy } from '../proxy/tcp-proxy.ts'
import { skipWithout } from '../services/services.ts'
import { applying, effects, endOf, facts, prepare, refusalOf } from './scene.ts'
import { ask, caughtUp, Servers } from './servers.ts'

const deadlineMs = 60_000
const bodies = (prefix: string, count: number) => facts(prefix, count).map(fact => JSON.stringify(fact))

describe('a standby that lags and is promoted', await skipWithout('kafka'), () => {
  test('halts consumers, reports what may be lost, and once accepted the log is read again: all applied once', async t => {
    await using servers = new Servers()
    const kafka = await openKafka(t)
    const name = await kafka.createTopic()
    const primary = await servers.primary()
    await prepare(primary)
    const toPrimary = await startTcpProxy({ host: '127.0.0.1', port: primary.port })
    const standby = await servers.standby(await servers.copy(primary), toPrimary.through(primary.url))
    const address = { host: '127.0.0.1', port: primary.port }
    const front = await startTcpProxy(address)
    const databaseUrl = front.through(primary.url)
    const consumer = applying({ source: topic(name, { start: 'earliest' }) })
    const start = () => runConsumer(consumer, { databaseUrl, kafkaBootstrap: kafka.bootstrap })
    try {
      await kafka.produce(name, bodies('safe', 400))
      const running = await start()
      const applied = (server: typeof primary, count: number) =>
        until(`${count} effects`, async () => (await ask(server, effects)) === `${count} of 1`, {
          deadlineMs,
        })
      await applied(primary, 400)
      await caughtUp(primary, standby)
      toPrimary.refuse()
      toPrimary.cut()
      await kafka.produce(name, bodies('lost', 100))
      await applied(primary, 500)
      await until(
        'the broker was told',
        async () => (await kafka.committed('applying.1', name)).get(0) === 500,
        {
          deadlineMs,
        },
      )

      await primary.stop()
      await ask(standby, 'select pg_promote()')
      assert.equal(await ask(standby, effects), '400 of 1', 'acknowledged and gone')
      address.port = standby.port
      front.cut()
      assert.equal(await endOf(running), 'server_changed')
      assert.equal(await refusalOf(start()), 'server_changed', 'not forgotten by a restart')

      const pool = createPool(standby.url, { max: 1 })
      const { open, exposures } = await readRestore(pool)
      assert.equal(open?.timeline, 2)
      assert.ok(open.completeUntil !== null && open.completeUntil <= open.detectedAt)
      const [{ partitions, keeper }] = exposures as [(typeof exposures)[0]]
      assert.equal(keeper, 'broker')
      assert.equal(partitions[0]?.partition, `${name}/0`)
      const from = Number(partitions[0]?.next)
      assert.ok(from > 0 && from <= 400, `reads again from ${from}`)
      await assert.rejects(
        acceptServer(pool, Number(open.id) + 1, 'a slip'),
        /waits to be accepted. Review that one first/,
      )
      await assert.rejects(acceptServer(pool, Number(open.id), '  '), /Say why/)
      assert.deepEqual(await acceptServer(pool, Number(open.id), 'failover of the night'), {
        ok: true,
        partitionsSetBack: 1,
      })

      const again = await start()
      await applied(standby, 500)
      await kafka.produce(name, bodies('new', 50))
      await applied(standby, 550)
      await again.drain()
      assert.equal((await kafka.committed('applying.1', name)).get(0), 550)
      const entries = await listAudit(pool, { consumer: undefined, countMax: 10 })
      assert.deepEqual(
        entries.map(one => `${one.action} ${one.outcome}`),
        ['restore accept done', 'restore accept refused', 'restore accept refused', 'restore notice done'],
      )
      assert.equal((await readRestore(pool)).open, null)
      const [broker] = await listBrokers(pool)
      assert.equal(broker?.kind, 'kafka')
      assert.ok(broker.cluster.length > 10, 'the cluster says who it is')
      await pool.end()
    } finally {
      await front.close()
      await toPrimary.close()
    }
  })
})
