import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Place, placeText } from '../place.ts'
import type { Sample } from './process.ts'

/** `per message` has a handler for each message, `slow neighbour` too: one call in a hundred takes 500 ms. */
export type Observed = 'onceward' | 'per message' | 'slow neighbour' | 'by hand' | 'unprotected'

const onceward = fileURLToPath(new URL('./process.ts', import.meta.url))
const entries: Record<Observed, string> = {
  onceward,
  'per message': onceward,
  'slow neighbour': onceward,
  'by hand': fileURLToPath(new URL('./by-hand-process.ts', import.meta.url)),
  unprotected: fileURLToPath(new URL('./unprotected-process.ts', import.meta.url)),
}

/** Onceward, or the same effect by hand, in a process of its own, watched from outside. */
export class ObservedConsumer {
  readonly #child: ChildProcess
  readonly #samples: Sample[] = []
  #failed: Error | null = null

  private constructor(child: ChildProcess) {
    this.#child = child
    child.on('message', (sample: Sample) => this.#samples.push(sample))
    child.once('exit', code => {
      this.#failed = new Error(`the observed consumer ended with ${code}`)
    })
  }

  static async start(
    queue: string,
    place: Place,
    wants: 'times' | 'samples',
    who: Observed = 'onceward',
  ): Promise<ObservedConsumer> {
    const child = fork(entries[who], [queue, placeText(place), wants, who], {
      execArgv: ['--conditions=@onceward/source', '--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    const consumer = new ObservedConsumer(child)
    await consumer.reached(0)
    return consumer
  }

  get samples(): readonly Sample[] {
    return this.#samples
  }

  get applied(): number {
    return this.#samples.at(-1)?.applied ?? -1
  }

  async reached(count: number): Promise<void> {
    while (this.applied < count) {
      if (this.#failed !== null) throw this.#failed
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    await exited
  }
}
