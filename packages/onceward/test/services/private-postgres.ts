import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../../src/runtime/embedded/index.ts'
import { unprivilegedUser } from '../../src/runtime/embedded/unprivileged-user.ts'

const settings = { shared_buffers: '16MB', max_connections: 40, min_wal_size: '32MB', max_wal_size: '64MB' }

/** A small disk of the test's own, which it can fill. */
export interface SmallDisk {
  readonly folder: string
  /** Leaves so many bytes free. */
  fill(leaveBytes: number, size: number): void
  empty(): void
}

/** Why no disk can be made here, as an option for a test; empty where it can. */
export function skipWithoutDisks(): { skip?: string } {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-disk-'))
  const made = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder])
  if (made.status === 0) spawnSync('umount', [folder])
  rmSync(folder, { recursive: true, force: true })
  return made.status === 0 ? {} : { skip: 'a small disk is a tmpfs, and this user may not mount one' }
}

/** A server of the test's own, on a folder of its own: it may be killed, frozen and run out of disk. */
export async function startPrivatePostgres(options: { readonly walOnDiskOf?: number } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-server-'))
  chmodSync(folder, 0o755)
  const dataDir = join(folder, 'data')
  const disks: string[] = []
  const makeDisk = (bytes: number): SmallDisk => {
    const path = join(folder, `disk${disks.length}`)
    mkdirSync(path)
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path])
    if (mounted.status !== 0) throw new Error(`no disk: ${mounted.stderr}`)
    disks.push(path)
    return smallDisk(path)
  }
  let server = await startEmbeddedPostgres({ dataDir, settings })
  const start = async (changed: Readonly<Record<string, string | number>> = {}) => {
    server = await startEmbeddedPostgres({
      dataDir,
      settings: { ...settings, ...changed },
      port: server.port,
    })
  }
  let wal: SmallDisk | null = null
  if (options.walOnDiskOf !== undefined) {
    await server.stop()
    wal = makeDisk(options.walOnDiskOf)
    moveWal(dataDir, join(wal.folder, 'wal'))
    await start()
  }
  return {
    url: server.url,
    port: server.port,
    wal,
    makeDisk,
    start,
    stop: () => server.stop(),
    get pid() {
      return server.pid
    },
    get logFile() {
      return join(server.dataDir, 'server.log')
    },
    async [Symbol.asyncDispose]() {
      await server.stop().catch(() => {})
      for (const disk of disks) spawnSync('umount', ['-l', disk])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function smallDisk(folder: string): SmallDisk {
  const ballast = join(folder, 'ballast')
  const owner = unprivilegedUser()
  const room = join(folder, 'room')
  mkdirSync(room, { mode: 0o700 })
  for (const path of [folder, room]) if (owner) chownSync(path, owner.uid, owner.gid)
  return {
    folder: room,
    fill(leaveBytes, size) {
      writeFileSync(ballast, '')
      const piece = Buffer.alloc(64 * 1024)
      for (let written = 0; written < size; written += piece.length) {
        try {
          writeFileSync(ballast, piece, { flag: 'a' })
        } catch {
          break
        }
      }
      if (leaveBytes > 0) shrink(ballast, leaveBytes)
    },
    empty: () => rmSync(ballast, { force: true }),
  }
}

function shrink(path: string, bytes: number): void {
  spawnSync('truncate', ['-s', `-${bytes}`, path])
}

function moveWal(dataDir: string, to: string): void {
  const from = join(dataDir, 'pg_wal')
  const copied = spawnSync('cp', ['-a', from, to])
  if (copied.status !== 0) throw new Error(`WAL not moved: ${copied.stderr}`)
  renameSync(from, `${from}.old`)
  rmSync(`${from}.old`, { recursive: true })
  symlinkSync(to, from)
}
