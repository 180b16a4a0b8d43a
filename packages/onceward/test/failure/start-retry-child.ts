import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { RetryOrders } from './retry-child.ts'

/** Resolves when it runs. `ends` gets what makes sure that it does not outlive the test. */
export async function startRetryChild(
  orders: RetryOrders,
  ends: (() => Promise<unknown>)[],
): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('retry-child.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=@onceward/source', program], {
    env: { ...process.env, RETRY_ORDERS: JSON.stringify(orders) },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  ends.push(() => killRetryChild(child))
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve())
    child.once('exit', code => reject(new Error(`a child ended with ${code} before it ran`)))
  })
  return child
}

export async function killRetryChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise(resolve => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}
