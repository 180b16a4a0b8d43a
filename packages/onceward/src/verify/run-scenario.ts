import { appendFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { publish } from '../drivers/postgres/queue/publish.ts'
import {
  countUnfinished,
  expireLeases,
  readFilePosition,
  scratchQueue,
} from '../drivers/postgres/verify/scratch-copy.ts'
import type { ChildObservation, ChildOrders, ContractFacts, HandlerEnvironment } from './child/orders.ts'
import type { ChildPool, VerifiedProcess } from './child-pool.ts'
import { type CuttingProxy, openCuttingProxy } from './cutting-proxy.ts'
import type { Fault } from './fault.ts'
import { type FedMessage, feedOf } from './feed.ts'
import { type BrokenInvariant, brokenInvariants, type Invariant } from './invariants.ts'
import type { ScratchDatabase, ScratchDatabases } from './scratch-databases.ts'
import { moveSequences, type Snapshot, takeSnapshot } from './snapshot.ts'

/** What all runs of one verification share. */
export interface Bench {
  readonly databases: ScratchDatabases
  readonly children: ChildPool
  readonly facts: ContractFacts
  readonly file: string
  readonly policy: string | null
  readonly seed: number
  readonly stubPort: number
  readonly allowed: readonly string[]
  /** Longest time of one run. */
  readonly runMaxMs: number
  readonly folder: string
  readonly invariants: Readonly<Record<string, Invariant>>
  readonly signal?: AbortSignal | undefined
}

export interface VerifyRun {
  readonly messages: readonly FedMessage[]
  readonly fault: Fault | null
  /** One message after the other. Default: only without a fault. */
  readonly serial?: boolean
  readonly environment: HandlerEnvironment
  readonly sequencesMoved?: boolean
}

export interface RunResult {
  readonly snapshot: Snapshot
  /** What the processes saw; those that died are missing. */
  readonly observed: readonly ChildObservation[]
  /** False: the fault's moment did not come in this run. */
  readonly reached: boolean
  /** Why the run did not end by itself; null if it did. */
  readonly trouble: string | null
  readonly broken: readonly BrokenInvariant[]
}

/** One run of the user's consumer on a fresh database, with at most one fault. */
export async function runScenario(bench: Bench, scenario: VerifyRun): Promise<RunResult> {
  bench.signal?.throwIfAborted()
  const database = await bench.databases.copy()
  const run = new ScenarioRun(bench, scenario, database)
  try {
    return await run.run()
  } finally {
    await run.close()
    await database.drop()
  }
}

class ScenarioRun {
  readonly #bench: Bench
  readonly #scenario: VerifyRun
  readonly #database: ScratchDatabase
  readonly #processes: VerifiedProcess[] = []
  readonly #deadline: number
  readonly #waking: NodeJS.Timeout[] = []
  #proxy: CuttingProxy | null = null

  constructor(bench: Bench, scenario: VerifyRun, database: ScratchDatabase) {
    this.#bench = bench
    this.#scenario = scenario
    this.#database = database
    this.#deadline = Date.now() + bench.runMaxMs
  }

  async run(): Promise<RunResult> {
    const { fault, messages, sequencesMoved } = this.#scenario
    const { seed, facts } = this.#bench
    const feed = feedOf(fault, messages, { seed, byKey: facts.order === 'key' })
    if (sequencesMoved === true) await moveSequences(this.#database.pool)
    await this.#publish(feed.first)
    let trouble: string | null = null
    let reached = true
    try {
      reached = await this.#work(fault)
      if (feed.after.length > 0) {
        await this.#publish(feed.after)
        await this.#untilDecided()
      }
      if (fault?.class === 'campaign' || fault?.class === 'rebuild') await this.#replay(fault.class)
    } catch (error) {
      trouble = (error as Error).message
    }
    const observed: ChildObservation[] = []
    for (const one of this.#processes) {
      const seen = await Promise.race([one.drain(), sleep(drainMaxMs, null, { ref: false })])
      if (seen !== null) observed.push(seen)
    }
    const { pool } = this.#database
    const broken = await brokenInvariants(pool, this.#bench.invariants)
    return { snapshot: await takeSnapshot(pool), observed, reached, trouble, broken }
  }

  /** Runs the consumer until everything is decided. False if the fault's moment did not come. */
  async #work(fault: Fault | null): Promise<boolean> {
    switch (fault?.class) {
      case 'point':
      case 'statement':
        return this.#killed(fault)
      case 'freeze':
        return this.#frozen(fault)
      case 'restart':
        return this.#restarted(fault)
      case 'rollback':
      case 'commit':
        return this.#cut(fault)
      case 'processes':
        this.#start({ sizeMax: 2 })
        this.#start({ sizeMax: 2 })
        await this.#untilDecided()
        return true
      default:
        this.#start({})
        await this.#untilDecided()
        return true
    }
  }

  async #killed({ trigger }: Fault): Promise<boolean> {
    const victim = this.#start({ trigger, action: 'die' })
    const died = await Promise.race([
      victim.triggered.then(() => true),
      this.#untilDecided().then(() => false),
    ])
    if (!died) return false
    await victim.ended
    this.#processes.pop()
    await expireLeases(this.#database.pool)
    this.#start({})
    await this.#untilDecided()
    return true
  }

  /** The process stops; its leases expire; another one works; then the first wakes and continues. */
  async #frozen({ trigger }: Fault): Promise<boolean> {
    const zombie = this.#start({ trigger, action: 'stop' })
    const stopped = await Promise.race([
      zombie.triggered.then(() => true),
      this.#untilDecided().then(() => false),
    ])
    if (!stopped) return false
    await expireLeases(this.#database.pool)
    const other = this.#start({})
    await other.running
    // The other process may wait for locks of the frozen one, so the zombie wakes before all is decided.
    await Promise.race([this.#untilDecided(), sleep(freezeMs)])
    this.#wake(zombie)
    await this.#untilDecided()
    return true
  }

  async #restarted({ trigger }: Fault): Promise<boolean> {
    const process = this.#start({ trigger, action: 'stop' })
    const stopped = await Promise.race([
      process.triggered.then(() => true),
      this.#untilDecided().then(() => false),
    ])
    if (!stopped) return false
    await this.#bench.databases.endSessions(this.#database.name)
    this.#wake(process)
    await this.#untilDecided()
    return true
  }

  /** Repeatedly: the process announces its stop before it stops, and an early signal would have no effect. */
  #wake({ process }: VerifiedProcess): void {
    process.kill('SIGCONT')
    this.#waking.push(setInterval(() => process.kill('SIGCONT'), wakeMs))
  }

  async #cut({ class: kind, number }: Fault): Promise<boolean> {
    const where = kind === 'commit' ? 'after commit' : 'before commit'
    this.#proxy = await openCuttingProxy(this.#database.url, where, number)
    let happened = false
    void this.#proxy.cut.then(() => {
      happened = true
    })
    this.#start({ databaseUrl: this.#proxy.url })
    await this.#untilDecided()
    return happened
  }

  async #replay(task: 'campaign' | 'rebuild'): Promise<void> {
    const process = this.#start({ task, logFile: await this.#fileOf(this.#scenario.messages) })
    const { error } = await Promise.race([process.drain().then(() => ({ error: null })), process.ended])
    this.#processes.pop()
    if (error !== null) throw new Error(error)
  }

  async #fileOf(messages: readonly FedMessage[]): Promise<string> {
    await appendFile(this.#logFile, messages.map(({ body }) => `${body.toString('utf8')}\n`).join(''))
    return this.#logFile
  }

  async #publish(messages: readonly FedMessage[]): Promise<void> {
    if (this.#bench.facts.needsLog) return void (await this.#fileOf(messages))
    await publish(this.#database.pool as never, scratchQueue, messages)
  }

  #start(change: Partial<ChildOrders>): VerifiedProcess {
    const { file, policy, stubPort, allowed, facts } = this.#bench
    const { serial = this.#scenario.fault === null, environment } = this.#scenario
    const started = this.#bench.children.start({
      task: 'run',
      file,
      policy,
      databaseUrl: this.#database.url,
      logFile: facts.needsLog ? this.#logFile : null,
      serial,
      sizeMax: null,
      handlerEnvironment: environment,
      stubPort,
      allowed,
      trigger: null,
      action: 'die',
      samples: [],
      ...change,
    })
    this.#processes.push(started)
    return started
  }

  /** Rejects when the time of the run is over, or a process ends that should not. */
  async #untilDecided(): Promise<void> {
    for (;;) {
      this.#bench.signal?.throwIfAborted()
      const left = await this.#unfinished()
      if (left === 0) return
      const failed = await Promise.race([...this.#processes.map(one => one.ended), sleep(pollMs, null)])
      if (failed !== null) throw new Error(failed.error ?? 'the process of the consumer ended by itself')
      if (Date.now() > this.#deadline)
        throw new Error(`${left} messages were not decided within ${this.#bench.runMaxMs / 1_000} s`)
    }
  }

  /** Messages that are not decided, or bytes of the log that are not read. Unreachable: as before. */
  async #unfinished(): Promise<number> {
    const { pool } = this.#database
    const left = await countUnfinished(pool)
    if (!this.#bench.facts.needsLog) return left
    const { size } = await stat(this.#logFile)
    return left + size - (await readFilePosition(pool))
  }

  get #logFile(): string {
    return join(this.#bench.folder, `${this.#database.name}.jsonl`)
  }

  async close(): Promise<void> {
    for (const timer of this.#waking) clearInterval(timer)
    await Promise.all(this.#processes.map(one => one.kill()))
    this.#proxy?.close()
  }
}

const pollMs = 20
const freezeMs = 300
const drainMaxMs = 8_000
const wakeMs = 50
