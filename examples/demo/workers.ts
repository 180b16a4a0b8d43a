import { Child } from './child.ts'
import { type DemoSettings, settingsEnvironment } from './settings.ts'

export type WorkerName = 'consumer 1' | 'consumer 2' | 'dispatcher'
export const workerNames: readonly WorkerName[] = ['consumer 1', 'consumer 2', 'dispatcher']

/** The numbers that the consumers reported. A killed one loses its last tenth of a second. */
export interface Reported {
  readonly delivered: number
  readonly duplicates: number
  readonly batchesInFlight: number
}

interface Tally {
  readonly delivered: number
  readonly outcomes: Readonly<Record<string, number>>
  readonly batchesInFlight: number
}

/** Two consumers and a dispatcher. A process that ends before `drain` is restarted immediately. */
export class Workers {
  readonly #settings: DemoSettings
  readonly #current = new Map<WorkerName, Child>()
  readonly #tallies = new Map<Child, Tally>()
  readonly #onKilled: (name: WorkerName, pid: number) => void
  readonly kills: Record<WorkerName, number> = { 'consumer 1': 0, 'consumer 2': 0, dispatcher: 0 }
  /** Unexpected exits, each with its reason. */
  readonly surprises: string[] = []
  #stopping = false

  constructor(settings: DemoSettings, onKilled: (name: WorkerName, pid: number) => void) {
    this.#settings = settings
    this.#onKilled = onKilled
  }

  async start(): Promise<void> {
    const children = workerNames.map(name => this.#spawn(name))
    await Promise.all(children.map(child => child.ready()))
  }

  /** Resolves when the current run of a process has started its work. */
  async ready(name: WorkerName): Promise<void> {
    const child = this.#current.get(name)!
    await child.ready().catch(() => child.exited)
  }

  /** Resolves once the process is dead and its successor is starting. */
  async kill(name: WorkerName): Promise<void> {
    const child = this.#current.get(name)!
    if (this.#stopping || !child.isReady) return
    this.kills[name]++
    this.#onKilled(name, child.pid)
    child.kill()
    await child.exited
  }

  get killCount(): number {
    return workerNames.reduce((sum, name) => sum + this.kills[name], 0)
  }

  reported(): Reported {
    const sum = { delivered: 0, duplicates: 0, batchesInFlight: 0 }
    for (const { delivered, outcomes } of this.#tallies.values()) {
      sum.delivered += delivered
      sum.duplicates += (outcomes.duplicate ?? 0) + (outcomes['already held'] ?? 0)
    }
    for (const child of this.#current.values())
      sum.batchesInFlight += this.#tallies.get(child)?.batchesInFlight ?? 0
    return sum
  }

  /** Lets all processes finish their work in progress. */
  async drain(): Promise<void> {
    this.#stopping = true
    const children = [...this.#current.values()]
    for (const child of children) child.finish()
    await Promise.all(children.map(child => child.exited))
  }

  leave(): void {
    this.#stopping = true
    for (const child of this.#current.values()) child.kill()
  }

  #spawn(name: WorkerName): Child {
    const child = new Child({
      program: 'worker',
      args: [name.split(' ')[0]!, name],
      env: settingsEnvironment(this.#settings),
      onMessage: ({ tally }) => {
        if (tally) this.#tallies.set(child, tally as Tally)
      },
    })
    this.#current.set(name, child)
    void child.exited.then(({ code, killed }) => {
      this.#ended(name, child, killed || (this.#stopping && code === 0))
    })
    return child
  }

  #ended(name: WorkerName, child: Child, expected: boolean): void {
    if (!expected) this.surprises.push(`${name} ended unexpectedly: ${child.said}`)
    if (this.#stopping || this.surprises.length > 3) return
    this.#spawn(name)
  }
}
