import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Task } from './contenders/contender.ts'
import { type Place, placeText } from './place.ts'

const entry = fileURLToPath(new URL('./contenders/process.ts', import.meta.url))

/**
 * What one task took. The processor's time is that of the contender's process alone, its opening and closing
 * included.
 */
export interface Spent {
  readonly seconds: number
  readonly cpuSeconds: number
}

type Answer = Spent | { readonly error: string }

/** A contender's process, alive for the whole run so that its code is warm in every round that counts. */
export class ContenderProcess {
  readonly #child: ChildProcess
  readonly #name: string

  constructor({ name }: { readonly name: string }, place: Place, profileFolder: string | null) {
    this.#name = name
    const profiling = profileFolder === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`]
    this.#child = fork(entry, [name, placeText(place)], {
      execArgv: ['--conditions=@onceward/source', '--disable-warning=ExperimentalWarning', ...profiling],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
  }

  async consume(task: Task): Promise<Spent> {
    const { promise, resolve, reject } = Promise.withResolvers<Spent>()
    const onExit = (code: number | null) => reject(new Error(`${this.#name} ended with ${code}`))
    this.#child.once('exit', onExit)
    this.#child.once('message', (answer: Answer) => {
      if ('error' in answer) reject(new Error(`${this.#name}: ${answer.error}`))
      else resolve(answer)
    })
    this.#child.send(task)
    return promise.finally(() => this.#child.off('exit', onExit))
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    await exited
  }
}
