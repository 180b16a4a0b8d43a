import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runConsumer } from 'onceward'
import { createPool, createQueue, postgresQueue } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { acceptServer, readRestore } from '../../src/operations/server/incarnations.ts'
import { startCounting } from '../delivery/counting.ts'
import { startTcpProxy } from '../proxy/tcp-proxy.ts'
import { applying, endOf, prepare, refusalOf } from './scene.ts'
import { ask, caughtUp, Servers } from './servers.ts'

const deadlineMs = 60_000

describe('a server that is not the primary', () => {
  test('a standby is refused at start and only waited for later; a primary of before the failover is not used', async () => {
    await using servers = new Servers()
    const primary = await servers.primary()
    await prepare(primary)
    await ask(primary, 'create table count (key text primary key, times integer not null)')
    const standby = await servers.standby(await servers.copy(primary), primary.url)
    await caughtUp(primary, standby)
    const consumer = applying({ source: postgresQueue('facts') })
    assert.equal(await refusalOf(runConsumer(consumer, { databaseUrl: standby.url })), 'wrong_server')

    const address = { host: '127.0.0.1', port: primary.port }
    const front = await startTcpProxy(address)
    const lead = (to: typeof primary) => {
      address.port = to.port
      front.cut()
    }
    const url = front.through(primary.url)
    let counting = await startCounting(url)
    const settled = () => until('all is settled', () => counting.queue.unsettled === 0, { deadlineMs })
    counting.publish({ id: 'a', key: 'k' })
    await settled()
    lead(standby)
    counting.publish({ id: 'b', key: 'k' })
    await until('it waits', () => counting.process.tally.storeUnavailable, { deadlineMs })
    assert.equal(counting.queue.unsettled, 1)
    lead(primary)
    await settled()

    await caughtUp(primary, standby)
    await ask(standby, 'select pg_promote()')
    const pool = createPool(standby.url, { max: 1 })
    const { open } = await readRestore(pool)
    await acceptServer(pool, Number(open!.id), 'promoted on purpose')
    lead(standby)
    await assert.rejects(counting.process.finished, /an operator has accepted it meanwhile/)
    await counting[Symbol.asyncDispose]()
    counting = await startCounting(url)
    counting.publish({ id: 'c', key: 'k' })
    await settled()
    lead(primary)
    counting.publish({ id: 'd', key: 'k' })
    const before = front.bytesFromServer
    await until('the old primary has answered several times', () => front.bytesFromServer > before + 4_000, {
      deadlineMs,
    })
    assert.equal(counting.process.state, 'running')
    assert.equal(counting.queue.unsettled, 1, 'the old primary would take it, and lose it')
    assert.equal(await ask(primary, 'select times from count'), 2)
    lead(standby)
    await settled()
    assert.equal(await ask(standby, 'select times from count'), 4)
    await counting[Symbol.asyncDispose]()
    await pool.end()
    await front.close()
  })

  test('behind a pooler that moves clients silently: halts at the next heartbeat', async () => {
    await using servers = new Servers()
    const primary = await servers.primary()
    await prepare(primary)
    const pool = createPool(primary.url, { max: 1 })
    await createQueue(pool, 'facts')
    const running = await runConsumer(applying({ source: postgresQueue('facts') }), {
      databaseUrl: primary.url,
    })
    // The same connection, another life: as if the pooler had connected it to the promoted server.
    await pool.query(`update onceward.server_incarnation set timeline = timeline + 1`)
    assert.equal(await endOf(running), 'server_changed')
    await pool.end()
  })
})

describe('a synchronous standby that does not answer', () => {
  test('a commit whose wait was cancelled is local only: nothing is settled until the standby has it', async () => {
    await using servers = new Servers()
    const primary = await servers.primary()
    await ask(primary, 'create table count (key text primary key, times integer not null)')
    await prepare(primary)
    const toPrimary = await startTcpProxy({ host: '127.0.0.1', port: primary.port })
    const standby = await servers.standby(await servers.copy(primary), toPrimary.through(primary.url))
    await using counting = await startCounting(primary.url)
    counting.publish({ id: 'a', key: 'k' })
    await until('the first is settled', () => counting.queue.unsettled === 0, { deadlineMs })
    await caughtUp(primary, standby)

    await ask(primary, `alter system set synchronous_standby_names = 'standby'`)
    await ask(primary, 'select pg_reload_conf()')
    await until(
      'it is synchronous',
      async () => (await ask(primary, 'select sync_state from pg_stat_replication')) === 'sync',
      { deadlineMs },
    )
    toPrimary.refuse()
    toPrimary.cut()
    const waiting = (what: string) =>
      `select pid from pg_stat_activity where wait_event = 'SyncRep' and query ilike '${what}'`
    counting.publish({ id: 'b', key: 'k' })
    let pid: unknown
    const committing = async () => {
      pid = await ask(primary, waiting('commit'))
      return pid !== undefined
    }
    await until('COMMIT waits for the standby', committing, { deadlineMs })
    await ask(primary, `select pg_cancel_backend(${pid})`)
    await until(
      'the proof waits for it too',
      async () => (await ask(primary, waiting('%replicated%'))) !== undefined,
      { deadlineMs },
    )
    assert.equal(await ask(primary, 'select times from count'), 2, 'committed here')
    assert.equal(counting.queue.unsettled, 1, 'and not settled')
    toPrimary.accept()
    await until('it is settled', () => counting.queue.unsettled === 0, { deadlineMs })
    // The standby has it on disk; it shows it when it has replayed it.
    await caughtUp(primary, standby)
    assert.equal(await ask(standby, 'select times from count'), 2)
    assert.equal(await ask(primary, 'select times from count'), 2)
    // Else the end of the run would wait for a standby that is gone.
    await ask(primary, 'alter system reset synchronous_standby_names')
    await ask(primary, 'select pg_reload_conf()')
    await toPrimary.close()
  })
})
