import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface ChildOptions {
  /** File beside this one, without its extension. */
  readonly program: string
  readonly args?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly onMessage: (message: ChildMessage) => void
}

export type ChildMessage = { readonly kind: string; readonly [field: string]: unknown }

/** One run of one process of the demo. */
export class Child {
  readonly #process: ChildProcess
  readonly #ready = Promise.withResolvers<ChildMessage>()
  readonly exited: Promise<{ readonly code: number | null; readonly killed: boolean }>
  #isReady = false
  #killed = false
  #said = ''

  constructor({ program, args = [], env = process.env, onMessage }: ChildOptions) {
    const file = fileURLToPath(new URL(`./${program}.ts`, import.meta.url))
    const child = fork(file, [...args], { env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    this.#process = child
    this.#ready.promise.catch(() => {})
    child.stderr!.on('data', (chunk: Buffer) => {
      this.#said = (this.#said + chunk).slice(-4_000)
    })
    child.on('message', message => {
      const received = message as ChildMessage
      if (received.kind === 'ready') {
        this.#isReady = true
        this.#ready.resolve(received)
      } else onMessage(received)
    })
    this.exited = new Promise(resolve => {
      child.on('error', error =>
        this.#end(`cannot start: ${error.message}`, () => resolve({ code: 1, killed: false })),
      )
      child.on('close', code =>
        this.#end(`ended with code ${code}`, () => resolve({ code, killed: this.#killed })),
      )
    })
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  get isReady(): boolean {
    return this.#isReady
  }

  /** The last lines of its stderr: errors and warnings. */
  get said(): string {
    return this.#said.trim()
  }

  ready(): Promise<ChildMessage> {
    return this.#ready.promise
  }

  /** Any message asks it to finish its work and exit. */
  finish(): void {
    if (this.#process.connected) this.#process.send({ kind: 'finish' })
  }

  /** SIGKILL: no handler runs, nothing is flushed, no connection is closed. */
  kill(): void {
    this.#killed = true
    this.#process.kill('SIGKILL')
  }

  #end(why: string, report: () => void): void {
    this.#ready.reject(new Error(`${this.#process.spawnargs.slice(-2).join(' ')} ${why}\n${this.said}`))
    report()
  }
}
