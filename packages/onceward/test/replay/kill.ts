import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { RunnerOrders } from './child.ts'
import type { Scene } from './scene.ts'

/** A process of its own that runs a step of a campaign. Resolves with how it ended. */
export function runChild(orders: RunnerOrders): Promise<NodeJS.Signals | number | null> {
  const child = spawn(
    process.execPath,
    ['--conditions=@onceward/source', fileURLToPath(new URL('child.ts', import.meta.url))],
    {
      env: { ...process.env, RUNNER_ORDERS: JSON.stringify(orders) },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
  return new Promise(resolve => child.once('close', (code, signal) => resolve(signal ?? code)))
}

/** Nobody waits for the lease of a dead process in a test. */
export const endLease = (scene: Scene) =>
  scene.pool.query(
    `update onceward.campaign set lease_until = clock_timestamp() - interval '1 second' where state = 'running'`,
  )
