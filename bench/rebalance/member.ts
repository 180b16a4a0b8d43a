import { type ChildProcess, fork } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Place, placeText } from '../place.ts'
import type { MemberSample } from './process.ts'

const entry = fileURLToPath(new URL('./process.ts', import.meta.url))
const lookMs = 20
const patienceMs = 120_000

/** One consumer of the group in a process of its own, watched from outside. */
export class Member {
  readonly #child: ChildProcess
  readonly #samples: MemberSample[] = []
  #ended = false

  constructor(task: { readonly queue: string; readonly group: string }, place: Place) {
    this.#child = fork(entry, [JSON.stringify(task), placeText(place)], {
      execArgv: ['--conditions=@onceward/source', '--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.#child.on('message', (sample: MemberSample) => this.#samples.push(sample))
    this.#child.once('exit', () => {
      this.#ended = true
    })
  }

  get samples(): readonly MemberSample[] {
    return this.#samples
  }

  get held(): readonly string[] {
    return this.#samples.at(-1)?.held ?? []
  }

  async holds(count: number): Promise<void> {
    await this.#until(() => this.held.length === count)
  }

  /** Resolves when something of each partition has been settled. */
  async hasSettled(partitions: readonly string[]): Promise<void> {
    await this.#until(() => partitions.every(partition => settledAt(this.#samples.at(-1), [partition]) > 0))
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  async #until(holds: () => boolean): Promise<void> {
    const sinceMs = performance.now()
    while (!holds()) {
      if (this.#ended) throw new Error('a consumer of the group ended by itself')
      if (performance.now() - sinceMs > patienceMs) throw new Error('the group did not share the topic')
      await sleep(lookMs)
    }
  }
}

export function settledAt(sample: MemberSample | undefined, partitions: readonly string[]): number {
  return partitions.reduce((sum, partition) => sum + (sample?.settled[partition] ?? 0), 0)
}
