import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readdirSync, readlinkSync, rmSync, statfsSync } from 'node:fs'
import { freemem } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import {
  makeOwnedFolder,
  unprivilegedUser,
} from '../../packages/onceward/src/runtime/embedded/unprivileged-user.ts'

const memory = '/dev/shm'
const needed = 6 * 1024 ** 3

/**
 * Where test databases lie. A copy of the schema is some 600 files; on ext4, which looks for inodes among
 * those just deleted, it took 300 ms of processor time, here 35. The log that a server recovers from stays on
 * disk, and is synced: what a killed server had committed is there.
 */
export async function ensureMemoryTablespace(url: string, dataDir: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const { rows } = await client.query(`select from pg_tablespace where spcname = 'memory'`)
    if (rows.length === 0 && hasRoom())
      await client.query(`create tablespace memory location '${makeFolder(dataDir)}'`)
  } finally {
    await client.end()
  }
}

/** One that stands there belonged to a data folder that is gone. */
function makeFolder(dataDir: string): string {
  const folder = join(memory, `onceward-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`)
  rmSync(folder, { recursive: true, force: true })
  makeOwnedFolder(folder, unprivilegedUser())
  return folder
}

function hasRoom(): boolean {
  if (process.platform !== 'linux' || !existsSync(memory)) return false
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize > needed && freemem() > needed
}

/** After the machine was started again: the server would not recover, or only to databases without files. */
export function lostItsMemory(dataDir: string): boolean {
  const links = join(dataDir, 'pg_tblspc')
  if (!existsSync(links)) return false
  return readdirSync(links)
    .map(name => join(links, name))
    .some(link => lstatSync(link).isSymbolicLink() && !existsSync(readlinkSync(link)))
}
