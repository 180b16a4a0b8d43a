import { existsSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { findPostmaster } from '../../packages/onceward/src/runtime/embedded/data-folder.ts'
import { startEmbeddedPostgres } from '../../packages/onceward/src/runtime/embedded/index.ts'
import { commandOf } from '../../packages/onceward/src/runtime/embedded/process-identity.ts'
import {
  reachableFolder,
  unprivilegedUser,
} from '../../packages/onceward/src/runtime/embedded/unprivileged-user.ts'
import { runFolder } from './cache-folders.ts'
import { ensureMemoryTablespace, lostItsMemory } from './memory-tablespace.ts'
import { assertPortsFree } from './network.ts'
import { killServer } from './server-process.ts'
import { type Log, ports, type Runner } from './service.ts'

export const postgresSettings = {
  max_connections: 300,
  shared_buffers: '512MB',
  max_wal_size: '4GB',
  wal_level: 'replica',
}

const wantedDataDir = () => join(runFolder('postgres'), 'data')

function postmaster() {
  try {
    return findPostmaster(realpathSync(reachableFolder(wantedDataDir(), unprivilegedUser())))
  } catch {
    return undefined
  }
}

/** A checkout may be removed while its server runs on, which then misses its files in odd places. */
async function endIfProgramIsGone(log: Log): Promise<void> {
  const server = postmaster()
  const [program = ''] = server ? commandOf(server.pid).split(' -D ') : []
  if (!server || program === '' || existsSync(program)) return
  log('postgres: its program was removed with the checkout that started it; starting it anew …')
  await killServer(server)
}

async function start(log: Log) {
  await endIfProgramIsGone(log)
  if (!postmaster()) {
    await assertPortsFree('postgres', [ports.postgres])
    const dataDir = reachableFolder(wantedDataDir(), unprivilegedUser())
    if (lostItsMemory(dataDir)) rmSync(dataDir, { recursive: true })
  }
  const options = { dataDir: wantedDataDir(), port: ports.postgres, settings: postgresSettings }
  return startEmbeddedPostgres({ ...options, log: line => log(`postgres: ${line}`) })
}

async function up(log: Log) {
  const { url, dataDir } = await start(log)
  await ensureMemoryTablespace(url, dataDir).catch(error =>
    log(`postgres: test databases stay on disk: ${(error as Error).message}`),
  )
  return { url }
}

export const localPostgres: Runner = {
  up,
  start: async log => ({ url: (await start(log)).url }),
  down: async () => {
    if (postmaster()) await (await start(() => {})).stop()
  },
  kill: () => killServer(postmaster()),
  running: async () => (postmaster() ? { url: (await start(() => {})).url } : undefined),
  mainProcess: postmaster,
}
