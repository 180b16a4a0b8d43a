import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { WorkerOrders } from './orders.ts'

/** A worker process of its own, as the parent sees it. */
export interface Worker {
  readonly process: ChildProcess
  /** Resolves with how it ended. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; stderr: string }>
  readonly running: Promise<void>
  /** Resolves when it says that it stands in the handler of `freezeIn`, however early that is. */
  readonly frozen: Promise<void>
}

export function spawnWorker(orders: WorkerOrders): Worker {
  const child = spawn(
    process.execPath,
    ['--conditions=@onceward/source', fileURLToPath(new URL('child.ts', import.meta.url))],
    {
      env: { ...process.env, WORKER_ORDERS: JSON.stringify(orders) },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    },
  )
  let stderr = ''
  child.stderr!.on('data', chunk => {
    stderr = (stderr + chunk).slice(-8_000)
  })
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null; stderr: string }>(resolve =>
    child.once('close', (code, signal) => resolve({ code, signal, stderr })),
  )
  const running = new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve())
    void ended.then(end => reject(new Error(`worker ended before it ran: ${JSON.stringify(end)}`)))
  })
  running.catch(() => {})
  const frozen = new Promise<void>((resolve, reject) => {
    child.on('message', told => {
      if (told === 'frozen') resolve()
    })
    void ended.then(end => reject(new Error(`worker ended before it froze: ${JSON.stringify(end)}`)))
  })
  frozen.catch(() => {})
  return { process: child, ended, running, frozen }
}

export async function killWorker(worker: Worker): Promise<void> {
  worker.process.kill('SIGKILL')
  await worker.ended
}
