import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Task } from './contenders/contender.ts'
import type { Contender } from './contenders/contenders.ts'
import type { Place } from './place.ts'

const entry = fileURLToPath(new URL('./contenders/process.ts', import.meta.url))

type Answer = { readonly seconds: number } | { readonly error: string }

/** A contender's process, alive for the whole run so that its code is warm in every round that counts. */
export class ContenderProcess {
  readonly #child: ChildProcess
  readonly #name: string

  constructor({ name }: Contender, { databaseUrl, rabbitmqUrl }: Place, profileFolder: string | null) {
    this.#name = name
    const profiling = profileFolder === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`]
    this.#child = fork(entry, [name, JSON.stringify({ databaseUrl, rabbitmqUrl })], {
      execArgv: ['--conditions=@onceward/source', '--disable-warning=ExperimentalWarning', ...profiling],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
  }

  async consume(task: Task): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const onExit = (code: number | null) => reject(new Error(`${this.#name} ended with ${code}`))
    this.#child.once('exit', onExit)
    this.#child.once('message', (answer: Answer) => {
      if ('error' in answer) reject(new Error(`${this.#name}: ${answer.error}`))
      else resolve(answer.seconds)
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
