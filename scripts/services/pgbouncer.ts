import { chownSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import {
  makeOwnedFolder,
  reachableFolder,
  unprivilegedUser,
} from '../../packages/onceward/src/runtime/embedded/unprivileged-user.ts'
import { stateFolder, whileLocked } from './cache-folders.ts'
import { assertPortsFree } from './network.ts'
import { needProgram } from './run-command.ts'
import { launchDetached, recordedServer, recordServer, stopServer, untilReady } from './server-process.ts'
import { type Log, ports } from './service.ts'

export type Pgbouncer = { url: string } | { unavailable: string }

/** Transaction mode, so that two statements outside a transaction may run in two different server sessions. */
function configuration(postgresUrl: string): string {
  const { hostname, port, username, password } = new URL(postgresUrl)
  const login = `user=${decodeURIComponent(username)}${password ? ` password=${decodeURIComponent(password)}` : ''}`
  return `[databases]
* = host=${hostname} port=${port || 5432} ${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ports.pgbouncer}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 500
default_pool_size = 20
ignore_startup_parameters = extra_float_digits
`
}

function urlThrough(postgresUrl: string): string {
  const url = new URL(postgresUrl)
  url.hostname = '127.0.0.1'
  url.port = String(ports.pgbouncer)
  return url.href
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    await client.end()
    return true
  } catch {
    return false
  }
}

function writeConfiguration(file: string, text: string): void {
  const user = unprivilegedUser()
  writeFileSync(file, text, { mode: 0o600 })
  if (user) chownSync(file, user.uid, user.gid)
}

async function start(postgresUrl: string, log: Log): Promise<string> {
  // pgbouncer refuses root as PostgreSQL does, so its configuration too must be readable for the unprivileged user.
  const user = unprivilegedUser()
  const folder = reachableFolder(join(stateFolder(), 'pgbouncer', 'etc'), user, 'pgbouncer')
  if (!existsSync(folder)) makeOwnedFolder(folder, user)
  const file = join(folder, 'pgbouncer.ini')
  const text = configuration(postgresUrl)
  const url = urlThrough(postgresUrl)
  const unchanged = existsSync(file) && readFileSync(file, 'utf8') === text
  if (!unchanged || !recordedServer('pgbouncer')) {
    await stopServer('pgbouncer', recordedServer('pgbouncer'), 5000)
    await assertPortsFree('pgbouncer', [ports.pgbouncer])
    const program = await needProgram('pgbouncer', ['pgbouncer'], line => log(`pgbouncer: ${line}`))
    writeConfiguration(file, text)
    recordServer('pgbouncer', launchDetached('pgbouncer', program, [file], user), file)
  }
  await untilReady(
    'pgbouncer',
    () => answers(url),
    () => recordedServer('pgbouncer') !== undefined,
    15_000,
  )
  return url
}

/** PgBouncer in transaction mode before the given server; the URL keeps the database's name. */
export async function ensurePgbouncer(postgresUrl: string, options: { log?: Log } = {}): Promise<Pgbouncer> {
  const log = options.log ?? (() => {})
  try {
    return { url: await whileLocked('pgbouncer', log, () => start(postgresUrl, log)) }
  } catch (error) {
    return { unavailable: (error as Error).message }
  }
}
