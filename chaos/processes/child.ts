import { type ChildProcess, fork } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export interface ChildOptions {
  /** File beside this one, without its extension. */
  readonly program: string
  readonly args?: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Its output is appended here. */
  readonly logFile: string
  readonly onMessage?: (message: ChildMessage) => void
}

export type ChildMessage = { readonly kind: string; readonly [field: string]: unknown }
export type ChildEnd = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

/** One life of one process of a run. */
export class Child {
  readonly #process: ChildProcess
  readonly ended: Promise<ChildEnd>
  readonly ready: Promise<void>
  /** Why it halted, if it said so. */
  halt: { readonly code: string; readonly text: string } | null = null
  isReady = false
  hasEnded = false

  constructor({ program, args = [], env, logFile, onMessage = () => {} }: ChildOptions) {
    const file = fileURLToPath(new URL(`./${program}.ts`, import.meta.url))
    const log = openSync(logFile, 'a')
    const child = fork(file, [...args], { env, stdio: ['ignore', log, log, 'ipc'] })
    closeSync(log)
    this.#process = child
    this.ended = new Promise(resolve => {
      child.once('error', () => resolve({ code: 1, signal: null }))
      child.once('exit', (code, signal) => {
        this.hasEnded = true
        resolve({ code, signal })
      })
    })
    this.ready = new Promise(resolve => {
      child.on('message', received => {
        const message = received as ChildMessage
        if (message.kind === 'ready') {
          this.isReady = true
          resolve()
        } else if (message.kind === 'halted') this.halt = message as never
        else onMessage(message)
      })
      void this.ended.then(() => resolve())
    })
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  /** Any message asks it to finish its work and exit. */
  finish(): void {
    if (this.#process.connected) this.#process.send({ kind: 'finish' }, () => {})
  }

  signal(name: NodeJS.Signals): void {
    if (!this.hasEnded) this.#process.kill(name)
  }
}
