import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { identify, isSameProcess, type ProcessIdentity } from '../runtime/embedded/process-identity.ts'

/** The PostgreSQL server on which scratch databases are made. */
export interface VerifyServer {
  readonly url: string
  /** Stops the server and starts it again. Null: others may use the server, so it is not stopped. */
  readonly restart: (() => Promise<void>) | null
  close(): Promise<void>
}

/** The given or configured server, or an embedded one that only this process uses. */
export async function openServer(given: string | undefined): Promise<VerifyServer> {
  const url = given ?? process.env.ONCEWARD_VERIFY_DATABASE_URL
  if (url !== undefined) return { url, restart: null, close: () => Promise.resolve() }
  const { startEmbeddedPostgres } = await import('../runtime/embedded/index.ts')
  const claim = claimFolder(join(process.cwd(), '.onceward', 'verify-postgres'))
  const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }
  let server = await startEmbeddedPostgres({ dataDir: claim.folder, settings })
  const { port, dataDir } = server
  return {
    url: server.url,
    async restart() {
      await server.stop()
      server = await startEmbeddedPostgres({ dataDir: claim.folder, settings, port })
    },
    async close() {
      await server.stop()
      claim.release(dataDir)
    },
  }
}

let ownFolders = 0

interface FolderClaim {
  readonly folder: string
  release(dataDir: string): void
}

/**
 * The folder is kept for the next time, because making one takes seconds. While another verification uses
 * it, this one gets a folder of its own, which is removed at the end.
 */
function claimFolder(folder: string): FolderClaim {
  const owner = `${folder}.owner`
  mkdirSync(dirname(folder), { recursive: true })
  if (claimFile(owner)) return { folder, release: () => rmSync(owner, { force: true }) }
  const own = `${folder}-${process.pid}-${++ownFolders}`
  return {
    folder: own,
    release(dataDir) {
      // Under root the server uses another folder than the given one.
      for (const path of new Set([own, dataDir])) rmSync(path, { recursive: true, force: true })
    },
  }
}

/** A claim of a process that has ended does not count: its server, if it still runs, is taken over. */
function claimFile(path: string): boolean {
  try {
    writeFileSync(path, JSON.stringify(identify(process.pid)), { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  if (isSameProcess(readOwner(path))) return false
  rmSync(path, { force: true })
  return claimFile(path)
}

function readOwner(path: string): ProcessIdentity {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ProcessIdentity
  } catch {
    return { pid: 0, started: '' }
  }
}
