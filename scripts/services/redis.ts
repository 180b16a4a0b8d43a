import { existsSync, rmSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
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

export type Redis = { url: string } | { unavailable: string }

/** Settings of the guides for production: an append-only file flushed each second, and no eviction. */
export const redisSettings = ['--appendonly yes', '--appendfsync everysec', '--maxmemory-policy noeviction']

/** Resolves with true when the server answers PING. */
function answers(): Promise<boolean> {
  return new Promise(resolve => {
    const socket = createConnection({ host: '127.0.0.1', port: ports.redis, timeout: 2_000 })
    const end = (answered: boolean) => {
      socket.destroy()
      resolve(answered)
    }
    socket.on('connect', () => socket.write('PING\r\n'))
    socket.on('data', data => end(data.toString().startsWith('+PONG')))
    socket.on('error', () => end(false))
    socket.on('timeout', () => end(false))
  })
}

async function start(log: Log): Promise<string> {
  if (!recordedServer('redis')) {
    await assertPortsFree('redis', [ports.redis])
    const program = await needProgram('redis-server', ['redis-server'], line => log(`redis: ${line}`))
    const user = unprivilegedUser()
    const folder = reachableFolder(join(stateFolder(), 'redis', 'data'), user, 'redis')
    if (existsSync(folder)) rmSync(folder, { recursive: true })
    makeOwnedFolder(folder, user)
    const place = ['--bind', '127.0.0.1', '--port', String(ports.redis), '--dir', folder]
    const settings = [...redisSettings.flatMap(setting => setting.split(' ')), '--save', '']
    // Redis rewrites its command line as "redis-server 127.0.0.1:port".
    recordServer(
      'redis',
      launchDetached('redis', program, [...place, ...settings], user),
      String(ports.redis),
    )
  }
  await untilReady('redis', answers, () => recordedServer('redis') !== undefined, 15_000)
  return `redis://127.0.0.1:${ports.redis}`
}

/** Redis for the benchmarks of other tools; Onceward itself does not use it. Starts with an empty data folder. */
export async function ensureRedis(options: { log?: Log } = {}): Promise<Redis> {
  const log = options.log ?? (() => {})
  try {
    return { url: await whileLocked('redis', log, () => start(log)) }
  } catch (error) {
    return { unavailable: (error as Error).message }
  }
}

export async function stopRedis(): Promise<void> {
  await whileLocked(
    'redis',
    () => {},
    () => stopServer('redis', recordedServer('redis'), 5_000),
  )
}
