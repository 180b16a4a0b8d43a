import { type ChildProcess, fork } from 'node:child_process'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { ChildMessage, ChildObservation, ChildOrders, ContractFacts } from './child/orders.ts'

/** In the built package, its folder is beside the chunk with this file. */
const entry = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? 'child/main.ts' : 'child/main.js', import.meta.url),
)

/** A process that runs the user's consumer. */
export interface VerifiedProcess {
  readonly process: ChildProcess
  /** Resolves when the consumer runs; rejects with the reason if it cannot. */
  readonly running: Promise<void>
  /** Resolves when the fault's moment has come: the process is dead or stopped. */
  readonly triggered: Promise<void>
  readonly ended: Promise<{ readonly signal: NodeJS.Signals | null; readonly error: string | null }>
  readonly facts: Promise<ContractFacts>
  /** Lets the consumer finish, and resolves with what the process saw; null if it died. */
  drain(): Promise<ChildObservation | null>
  kill(): Promise<void>
}

/** Child processes, some started ahead: a start takes most of the time of a run. */
export class ChildPool {
  readonly #warm: ChildProcess[] = []
  readonly #all = new Set<ChildProcess>()
  readonly #ahead: number
  #closed = false

  constructor(ahead: number) {
    this.#ahead = ahead
    this.#fill()
  }

  start(orders: ChildOrders): VerifiedProcess {
    const child = this.#warm.shift() ?? this.#spawn()
    this.#fill()
    const handle = watchChild(child)
    child.send(orders)
    return handle
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const child of this.#all) child.kill('SIGKILL')
    this.#all.clear()
  }

  #fill(): void {
    while (!this.#closed && this.#warm.length < this.#ahead) this.#warm.push(this.#spawn())
  }

  #spawn(): ChildProcess {
    const child = fork(entry, [], {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'ipc'],
      serialization: 'json',
    })
    child.on('error', () => {})
    this.#all.add(child)
    child.once('exit', () => this.#all.delete(child))
    return child
  }
}

function watchChild(child: ChildProcess): VerifiedProcess {
  const running = Promise.withResolvers<void>()
  const facts = Promise.withResolvers<ContractFacts>()
  const triggered = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<{ signal: NodeJS.Signals | null; error: string | null }>()
  const seen = Promise.withResolvers<ChildObservation | null>()
  let stderr = ''
  let error: string | null = null
  child.stderr?.on('data', chunk => {
    stderr = (stderr + chunk).slice(-2_000)
    if (process.env.ONCEWARD_VERIFY_DEBUG) process.stderr.write(chunk)
  })
  ;(child.stdio[3] as Readable).once('data', () => triggered.resolve())
  child.on('message', (message: ChildMessage) => {
    if (message.kind === 'running') running.resolve()
    else if (message.kind === 'facts') facts.resolve(message.facts)
    else if (message.kind === 'observed') seen.resolve(message.observed)
    else if (message.kind === 'failed') {
      error = message.error
      child.kill('SIGKILL')
    }
  })
  child.once('close', (_code, signal) => {
    const why = new Error(error ?? (stderr.trim() || `the process ended by ${signal ?? 'itself'}`))
    running.reject(why)
    facts.reject(why)
    seen.resolve(null)
    ended.resolve({
      signal,
      error: error ?? (signal === null && stderr.trim() !== '' ? stderr.trim() : null),
    })
  })
  for (const { promise } of [running, facts, triggered]) promise.catch(() => {})
  return {
    process: child,
    running: running.promise,
    facts: facts.promise,
    triggered: triggered.promise,
    ended: ended.promise,
    async drain() {
      if (child.connected) child.send('drain')
      const observed = await seen.promise
      child.kill('SIGKILL')
      return observed
    },
    async kill() {
      child.kill('SIGKILL')
      await ended.promise
    },
  }
}
