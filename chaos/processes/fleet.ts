import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { EventLog } from '../event-log.ts'
import { Child } from './child.ts'
import type { FakeClock } from './fake-clock.ts'
import { type ChaosSettings, environmentOf } from './settings.ts'

export const roles = ['consumer', 'worker', 'dispatcher', 'relay'] as const
export type Role = (typeof roles)[number]

/** `gateway` is the world outside; the others are the consumer under test. */
const instances = ['gateway', 'consumer-1', 'consumer-2', 'worker-1', 'dispatcher-1', 'relay-1'] as const
export type Instance = (typeof instances)[number]

/**
 * Longer than servers need to come back, and any pause of a start that waits for them. A broker took 93 s on a
 * machine with thirty runnable processes for each core.
 */
const readyMs = 300_000

/** The consumer whose clock jumps. */
export const clockInstance: Instance = 'consumer-2'

/** A process that ended by itself. */
export interface Halt {
  readonly at: string
  readonly instance: string
  readonly code: string
  readonly text: string
}

/** The processes of one run. One that ends before `drain` is started again, as by a supervisor. */
export class Fleet {
  readonly #settings: ChaosSettings
  readonly #folder: string
  readonly #log: EventLog
  readonly #clock: FakeClock | null
  readonly #current = new Map<Instance, Child>()
  readonly #killed = new Set<Child>()
  readonly halts: Halt[] = []
  #stopping = false

  constructor(settings: ChaosSettings, options: { folder: string; log: EventLog; clock: FakeClock | null }) {
    this.#settings = settings
    this.#folder = options.folder
    this.#log = options.log
    this.#clock = options.clock
  }

  async start(): Promise<void> {
    await Promise.all(instances.map(instance => this.#spawn(instance).ready))
  }

  instancesOf(role: string): Instance[] {
    return instances.filter(instance => instance.split('-')[0] === role)
  }

  /** kill -9. Resolves once the process is dead and its successor runs; a process that starts is awaited. */
  async kill(instance: Instance): Promise<void> {
    const child = await this.#running(instance)
    this.#killed.add(child)
    child.signal('SIGKILL')
    await child.ended
    await this.#running(instance)
  }

  /** SIGSTOP, then SIGCONT: it wakes up without having noticed. */
  async freeze(instance: Instance, ms: number): Promise<void> {
    const child = await this.#running(instance)
    child.signal('SIGSTOP')
    await wait(ms)
    child.signal('SIGCONT')
  }

  jump(seconds: number): void {
    this.#clock?.jump(seconds)
  }

  /** Lets all processes finish their work in progress; a process that does not is named. */
  async drain(deadlineMs: number): Promise<string[]> {
    this.#stopping = true
    const late: string[] = []
    const finish = async (instance: Instance) => {
      const child = this.#current.get(instance)!
      if (instance === 'gateway') return
      child.finish()
      const end = await Promise.race([child.ended, wait(deadlineMs, null, { ref: false })])
      if (end?.code !== 0 || end.signal !== null) late.push(`${instance} ended with ${JSON.stringify(end)}`)
    }
    await Promise.all(instances.map(finish))
    this.leave()
    return late
  }

  leave(): void {
    this.#stopping = true
    for (const child of this.#current.values()) child.signal('SIGKILL')
  }

  /** A process that neither runs nor ends is named, and killed so that the run can go on. */
  async #running(instance: Instance): Promise<Child> {
    for (;;) {
      const child = this.#current.get(instance)!
      const late = await Promise.race([child.ready, wait(readyMs, 'late', { ref: false })])
      if ((child.isReady && !child.hasEnded) || this.#stopping) return child
      if (late === 'late') {
        this.#halted(instance, { code: 'never ready', text: `neither ran nor ended in ${readyMs / 1_000} s` })
        this.#killed.add(child)
        child.signal('SIGKILL')
        throw new Error(`${instance} did not start`)
      }
      await wait(20)
    }
  }

  #halted(instance: Instance, { code, text }: { code: string; text: string }): void {
    const found = { at: new Date().toISOString(), instance, code, text }
    this.halts.push(found)
    this.#log.add('halted', found)
  }

  #spawn(instance: Instance): Child {
    const child = new Child({
      program: instance === 'gateway' ? 'gateway' : 'worker',
      args: [instance],
      env: {
        ...environmentOf(this.#settings),
        ...(instance === clockInstance ? this.#clock?.env : undefined),
      },
      logFile: join(this.#folder, `${instance}.log`),
    })
    this.#current.set(instance, child)
    void child.ended.then(end => this.#ended(instance, child, end.code, end.signal))
    return child
  }

  async #ended(
    instance: Instance,
    child: Child,
    code: number | null,
    signal: NodeJS.Signals | null,
  ): Promise<void> {
    const expected = this.#killed.has(child) || this.#stopping
    if (!expected) {
      const { halt } = child
      const said = halt ?? { code: signal ?? `exit ${code}`, text: 'ended without a word' }
      this.#halted(instance, said)
      await wait(500)
    }
    if (!this.#stopping) this.#spawn(instance)
  }
}
