import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import {
  assertMajorVersion,
  createDataFolder,
  disownReusedPid,
  findPostmaster,
  isDataFolder,
} from './data-folder.ts'
import { embeddedUrl } from './find-postgres.ts'
import { type PostgresBinaries, preparePostgresBinaries } from './postgres-binaries.ts'
import { identify, isSameProcess, type ProcessIdentity } from './process-identity.ts'
import { stopPostmaster } from './stop-postgres.ts'
import { reachableFolder, type UnprivilegedUser, unprivilegedUser } from './unprivileged-user.ts'

/** Where the embedded server keeps its data. */
export type EmbeddedPostgresOptions = {
  /** Created on first use. For root it may be replaced, see `EmbeddedPostgres.dataDir`. */
  dataDir: string
  /** Default: any free port. */
  port?: number
  /** Server settings, passed as -c; they win over the defaults. */
  settings?: Record<string, string | number>
  log?: (line: string) => void
  /** How long to wait until the server answers, recovery and orphan backends included. Default 60 s. */
  startTimeoutMs?: number
}

/**
 * The server is a separate process: it survives a crash of this one, and the next start on the same folder
 * reuses it. `stop()` ends it in either case.
 */
export type EmbeddedPostgres = {
  url: string
  port: number
  pid: number
  /** The actual data folder: under root, the unprivileged user must be able to reach it. */
  dataDir: string
  /** True when a server was already running on this folder. */
  reused: boolean
  stop(): Promise<void>
}

const defaultSettings = {
  max_connections: 200,
  shared_buffers: '256MB',
  max_wal_size: '2GB',
  synchronous_commit: 'on',
  fsync: 'on',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
}

type Place = {
  binaries: PostgresBinaries
  dataDir: string
  user: UnprivilegedUser | undefined
  logFile: string
}

const urlFor = (place: Place, port: number) => embeddedUrl(place.dataDir, port)

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

/** True only when the server that answers there serves this very folder. */
async function answers(place: Place, port: number): Promise<boolean> {
  const client = new pg.Client({ connectionString: urlFor(place, port), connectionTimeoutMillis: 2000 })
  client.on('error', () => {})
  try {
    await client.connect()
  } catch {
    // Not ended here: end() on a connection that never opened would wait forever.
    return false
  }
  try {
    const { rows } = await client.query<{ folder: string }>(
      `select current_setting('data_directory') as folder`,
    )
    return realpathSync(rows[0]!.folder) === realpathSync(place.dataDir)
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

function launch(
  place: Place,
  port: number,
  settings: Record<string, string | number>,
): ProcessIdentity | undefined {
  const flags = Object.entries({ ...defaultSettings, ...settings }).flatMap(([key, value]) => [
    '-c',
    `${key}=${value}`,
  ])
  const log = openSync(place.logFile, 'a', 0o600)
  try {
    const child = spawn(place.binaries.postgres, ['-D', place.dataDir, '-p', String(port), ...flags], {
      ...place.user,
      cwd: place.dataDir,
      detached: true,
      stdio: ['ignore', log, log],
    })
    child.on('error', () => {})
    child.unref()
    return child.pid === undefined ? undefined : identify(child.pid)
  } finally {
    closeSync(log)
  }
}

function logSince(place: Place, offset: number): string {
  return readFileSync(place.logFile).subarray(offset).toString('utf8').trim()
}

function logSize(place: Place): number {
  return statSync(place.logFile, { throwIfNoEntry: false })?.size ?? 0
}

async function waitUntilReady(place: Place, server: ProcessIdentity, port: number, deadline: number) {
  while (isSameProcess(server)) {
    if (await answers(place, port)) return 'ready'
    if (Date.now() > deadline) return 'timeout'
    await sleep(30)
  }
  return 'exited'
}

/**
 * After a kill -9 of the postmaster its backends may live on for a while, and no new one may start beside
 * them. An empty lock file is that of another start, which has not written it yet.
 */
const isWorthRetrying = (log: string, portIsGiven: boolean) =>
  /pre-existing shared memory block|lock file "postmaster.pid" (already exists|is empty)/.test(log) ||
  (!portIsGiven && /could not bind|Address already in use/.test(log))

function startFailure(place: Place, reason: string, log: string): Error {
  return new Error(
    `The embedded PostgreSQL did not start: ${reason}. The data in ${place.dataDir} is untouched. ` +
      `Its log (${place.logFile}) says:\n${log.split('\n').slice(-8).join('\n')}`,
  )
}

function handle(place: Place, server: ProcessIdentity, port: number, reused: boolean): EmbeddedPostgres {
  const url = urlFor(place, port)
  const stop = () => stopPostmaster(place.binaries, place.dataDir, server)
  return { url, port, pid: server.pid, dataDir: place.dataDir, reused, stop }
}

async function reuseRunning(place: Place, deadline: number): Promise<EmbeddedPostgres | undefined> {
  const running = findPostmaster(place.dataDir)
  if (!running) return undefined
  const state = await waitUntilReady(place, running, running.port, deadline)
  if (state === 'timeout') throw startFailure(place, 'a server runs there but does not answer', '')
  return state === 'ready' ? handle(place, running, running.port, true) : undefined
}

async function startFresh(place: Place, options: EmbeddedPostgresOptions, deadline: number) {
  disownReusedPid(place.dataDir)
  const port = options.port ?? (await freePort())
  const offset = logSize(place)
  const server = launch(place, port, options.settings ?? {})
  const state = server ? await waitUntilReady(place, server, port, deadline) : 'exited'
  if (server && state === 'ready') return handle(place, server, port, false)
  const log = logSince(place, offset)
  if (state === 'exited' && isWorthRetrying(log, options.port !== undefined) && Date.now() < deadline)
    return undefined
  throw startFailure(place, state === 'timeout' ? 'no answer in time' : 'the server exited', log)
}

/** Starts PostgreSQL on the folder, or finds the server that already runs there. */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const log = options.log ?? (() => {})
  const user = unprivilegedUser()
  const binaries = preparePostgresBinaries(user)
  const dataDir = reachableFolder(options.dataDir, user)
  if (!isDataFolder(dataDir)) {
    log(`creating a PostgreSQL ${binaries.version} database cluster in ${dataDir}`)
    createDataFolder(binaries, dataDir, user)
  }
  assertMajorVersion(binaries, dataDir)
  const place = { binaries, dataDir: realpathSync(dataDir), user, logFile: join(dataDir, 'server.log') }
  const deadline = Date.now() + (options.startTimeoutMs ?? 60_000)
  for (;;) {
    const server = (await reuseRunning(place, deadline)) ?? (await startFresh(place, options, deadline))
    if (server) return server
    await sleep(100)
  }
}
