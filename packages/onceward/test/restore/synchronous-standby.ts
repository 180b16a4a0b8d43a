import { createPool } from 'onceward/postgres'
import { type SynchronousStandby, until } from 'onceward/testing'
import { startTcpProxy } from '../proxy/tcp-proxy.ts'
import { ask, caughtUp, Servers } from './servers.ts'

const deadlineMs = 60_000

/** A primary whose commits wait for a standby, and the connection between them in the test's hands. */
export async function startWithStandby(prepare: (url: string) => Promise<void>) {
  const servers = new Servers()
  const primary = await servers.primary()
  await prepare(primary.url)
  const toPrimary = await startTcpProxy({ host: '127.0.0.1', port: primary.port })
  const following = await servers.standby(await servers.copy(primary), toPrimary.through(primary.url))
  await caughtUp(primary, following)
  await ask(primary, `alter system set synchronous_standby_names = 'standby'`)
  await ask(primary, 'select pg_reload_conf()')
  const pool = createPool(primary.url, { max: 1 })
  const isSynchronous = async () =>
    (await pool.query('select sync_state from pg_stat_replication')).rows[0]?.sync_state === 'sync'
  await until('the standby is synchronous', isSynchronous, { deadlineMs })
  const standby: SynchronousStandby = {
    async stop() {
      toPrimary.refuse()
      toPrimary.cut()
      const gone = async () => (await pool.query('select from pg_stat_replication')).rows.length === 0
      await until('the standby is gone', gone, { deadlineMs })
    },
    async resume() {
      toPrimary.accept()
      await until('the standby is back', isSynchronous, { deadlineMs })
    },
    async endWaits(how) {
      const { rows } = await pool.query(
        `select pg_${how}_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`,
      )
      return rows.length
    },
  }
  return {
    url: primary.url,
    standby,
    async [Symbol.asyncDispose]() {
      // Else whatever still ends would wait for a standby that is gone.
      await ask(primary, 'alter system reset synchronous_standby_names')
      await ask(primary, 'select pg_reload_conf()')
      await pool.end()
      await servers[Symbol.asyncDispose]()
      await toPrimary.close()
    },
  }
}
