import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../src/runtime/embedded/index.ts'
import { identify, waitForExit } from '../../src/runtime/embedded/process-identity.ts'

const folder = mkdtempSync(join(tmpdir(), 'onceward-embedded-'))
// mkdtemp makes it 0700, and then the server of a root user would keep its data elsewhere.
chmodSync(folder, 0o755)
const dataDir = join(folder, 'data')
const notRoot = process.getuid?.() === 0 ? false : 'only root runs the server as another user'
const settings = { shared_buffers: '16MB', max_connections: 20 }

async function query(url: string, sql: string) {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

describe('embedded PostgreSQL', () => {
  after(async () => {
    const server = await startEmbeddedPostgres({ dataDir, settings })
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it('keeps acknowledged rows through a kill -9 of the postmaster with a session open', async () => {
    const first = await startEmbeddedPostgres({ dataDir, settings })
    await query(first.url, 'create table kept (id int); insert into kept values (1), (2)')
    const idle = new pg.Client(first.url)
    idle.on('error', () => {})
    await idle.connect()
    const life = identify(first.pid)!
    process.kill(first.pid, 'SIGKILL')
    await waitForExit(life, 10_000)
    const second = await startEmbeddedPostgres({ dataDir, settings })
    assert.equal(second.reused, false)
    assert.notEqual(second.pid, first.pid)
    assert.deepEqual(await query(second.url, 'select id from kept order by id'), [{ id: 1 }, { id: 2 }])
    await idle.end().catch(() => {})
  })

  it('reuses the server that already runs on the folder', async () => {
    const running = await startEmbeddedPostgres({ dataDir, settings })
    const again = await startEmbeddedPostgres({ dataDir, settings })
    assert.equal(again.reused, true)
    assert.deepEqual([again.pid, again.url], [running.pid, running.url])
  })

  it('gives two starts at once on a new folder the same server', async () => {
    const shared = join(folder, 'shared')
    const servers = await Promise.all([1, 2].map(() => startEmbeddedPostgres({ dataDir: shared, settings })))
    assert.equal(servers[0]!.pid, servers[1]!.pid)
    await servers[0]!.stop()
    assert.equal(identify(servers[0]!.pid), undefined)
  })

  it('has fsync and synchronous commit on, listens on loopback only and asks for a password', async () => {
    const { url, port } = await startEmbeddedPostgres({ dataDir, settings })
    const rows = await query(
      url,
      `select name, setting from pg_settings where name in ('fsync', 'synchronous_commit', 'listen_addresses') order by 1`,
    )
    assert.deepEqual(
      rows.map(row => row.setting),
      ['on', '127.0.0.1', 'on'],
    )
    await assert.rejects(query(`postgres://postgres@127.0.0.1:${port}/postgres`, 'select 1'))
  })

  it('moves the data of a root user to where the server can reach it', { skip: notRoot }, async () => {
    const closed = join(folder, 'closed')
    mkdirSync(closed, { mode: 0o700 })
    const server = await startEmbeddedPostgres({ dataDir: join(closed, 'data'), settings })
    const again = await startEmbeddedPostgres({ dataDir: join(closed, 'data'), settings })
    await server.stop()
    rmSync(server.dataDir, { recursive: true, force: true })
    assert.match(server.dataDir, /^\/var\/lib\/onceward\/postgres-/)
    assert.equal(again.pid, server.pid)
  })

  it('names the cause when the given port belongs to another program', async () => {
    const server = await startEmbeddedPostgres({ dataDir, settings })
    await server.stop()
    const other = createServer(socket => socket.on('error', () => {}))
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as { port: number }
    await assert.rejects(startEmbeddedPostgres({ dataDir, settings, port }), /Address already in use/)
    other.close()
    other.unref()
  })
})
