import { join } from 'node:path'
import { identify, waitForExit } from '../../packages/onceward/src/runtime/embedded/process-identity.ts'
import { until } from '../../packages/onceward/src/testing/until.ts'
import { ask, caughtUp, Servers } from '../../packages/onceward/test/restore/servers.ts'
import type { PrimaryServer } from './database.ts'
import { Link } from './link.ts'

const deadlineMs = 60_000
const settings = { max_connections: 150, shared_buffers: '64MB', max_wal_size: '256MB' }

/** A primary whose commits wait for a standby, until that standby is promoted in its place. */
export async function startWithStandby(): Promise<PrimaryServer> {
  const servers = new Servers()
  const cleanup = new AsyncDisposableStack()
  cleanup.defer(() => servers[Symbol.asyncDispose]())
  try {
    const first = await servers.primary(settings)
    const between = await Link.open([{ host: '127.0.0.1', port: first.port }])
    cleanup.defer(() => between.close())
    const second = await servers.standby(await servers.copy(first), between.through(first.url), settings)
    await caughtUp(first, second)
    await ask(first, `alter system set synchronous_standby_names = 'standby'`)
    await ask(first, 'select pg_reload_conf()')
    const state = `select sync_state from pg_stat_replication`
    await until('the standby is synchronous', async () => (await ask(first, state)) === 'sync', {
      deadlineMs,
    })
    let current = first
    return {
      url: first.url,
      port: first.port,
      get pid() {
        return current.pid
      },
      async start() {
        const more = current === first || current.dataDir === first.dataDir ? archived(servers) : {}
        current = await servers.again(current.dataDir, { ...settings, ...more, port: current.port })
      },
      disk: null,
      standby: {
        cut: ms => between.refuse(ms),
        isPromoted: () => current.dataDir !== first.dataDir,
        async promote() {
          const old = identify(current.pid)
          process.kill(current.pid, 'SIGKILL')
          if (old) await waitForExit(old, deadlineMs)
          await ask(second, 'select pg_promote()')
          await until(
            'the standby is promoted',
            async () => (await ask(second, 'select pg_is_in_recovery() as x')) === false,
            { deadlineMs },
          )
          current = second
          return second.port
        },
      },
      logFiles: () => [join(first.dataDir, 'server.log'), join(second.dataDir, 'server.log')],
      close: () => cleanup.disposeAsync(),
    }
  } catch (error) {
    await cleanup.disposeAsync()
    throw error
  }
}

const archived = ({ archive }: Servers) => ({ archive_mode: 'on', archive_command: `cp %p ${archive}/%f` })
