import pg from 'pg'
import {
  type SmallDisk,
  skipWithoutDisks,
  startPrivatePostgres,
} from '../../packages/onceward/test/services/private-postgres.ts'
import type { PrimaryServer } from './database.ts'

const settings = { max_connections: 150, shared_buffers: '64MB' }
const diskBytes = 96 * 1024 ** 2
const tablespace = 'small'

/** One server, with the business tables on a small disk where this user may mount one. */
export async function startSinglePrimary(): Promise<PrimaryServer> {
  const server = await startPrivatePostgres()
  try {
    await server.stop()
    await server.start(settings)
    const disk = noSmallDisk() === null ? server.makeDisk(diskBytes) : null
    if (disk !== null) await placeTables(server.url, disk)
    return {
      url: server.url,
      port: server.port,
      get pid() {
        return server.pid
      },
      start: () => server.start(settings),
      disk: disk && { fill: () => disk.fill(0, diskBytes), empty: () => disk.empty(), tablespace },
      standby: null,
      logFiles: () => [server.logFile],
      close: () => server[Symbol.asyncDispose](),
    }
  } catch (error) {
    await server[Symbol.asyncDispose]()
    throw error
  }
}

/** Null, or why the disk cannot be made. */
export const noSmallDisk = (): string | null => skipWithoutDisks().skip ?? null

async function placeTables(url: string, disk: SmallDisk): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query(`create tablespace ${tablespace} location '${disk.folder}'`)
  await client.end()
}
