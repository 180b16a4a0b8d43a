import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { PurgeOrders } from './purge-process.ts'

/** A process of its own that removes what is old. */
export function spawnPurge(orders: PurgeOrders) {
  const child = spawn(
    process.execPath,
    ['--conditions=@onceward/source', fileURLToPath(new URL('purge-process.ts', import.meta.url))],
    {
      env: { ...process.env, PURGE_ORDERS: JSON.stringify(orders) },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    },
  )
  /** It has made its first pass. */
  const running = new Promise<void>(resolve => child.once('message', () => resolve()))
  const ended = new Promise<{ code: number | null; signal: string | null }>(resolve =>
    child.once('close', (code, signal) => resolve({ code, signal })),
  )
  return { process: child, running, ended }
}
