import { appendFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { publish } from '../drivers/postgres/queue/publish.ts'
import { countUnfinished, readFilePosition, scratchQueue } from '../drivers/postgres/verify/scratch-copy.ts'
import type { ChildObservation, ChildOrders, HandlerEnvironment } from './child/orders.ts'
import type { VerifiedProcess } from './child-pool.ts'
import { type FedMessage, feedOf } from './feed.ts'
import { brokenInvariants } from './invariants.ts'
import type { Bench, RunResult, VerifyRun } from './run-scenario.ts'
import type { ScratchDatabase } from './scratch-databases.ts'
import { moveSequences, takeSnapshot } from './snapshot.ts'
import { type FaultStage, stageFault } from './stage-fault.ts'

/** One run on its database: publishes the messages, stages the fault, and looks at what is left. */
export class ScenarioRun implements FaultStage {
  readonly #bench: Bench
  readonly #scenario: VerifyRun
  readonly database: ScratchDatabase
  readonly #processes: VerifiedProcess[] = []
  #started = 0
  readonly #deadline: number
  readonly #waking: NodeJS.Timeout[] = []
  readonly #opened: { close(): void }[] = []

  constructor(bench: Bench, scenario: VerifyRun, database: ScratchDatabase) {
    this.#bench = bench
    this.#scenario = scenario
    this.database = database
    this.#deadline = Date.now() + bench.runMaxMs
  }

  async run(): Promise<RunResult> {
    const { fault, messages, sequencesMoved } = this.#scenario
    const { seed, facts } = this.#bench
    const feed = feedOf(fault, messages, { seed, byKey: facts.order === 'key' })
    if (sequencesMoved === true) await moveSequences(this.database.pool)
    await this.#publish(feed.first)
    let trouble: string | null = null
    let reached = true
    try {
      reached = await stageFault(this, fault)
      if (feed.after.length > 0) {
        await this.#publish(feed.after)
        await this.untilDecided()
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
    const { pool } = this.database
    const broken = await brokenInvariants(pool, this.#bench.invariants)
    return { snapshot: await takeSnapshot(pool), observed, reached, trouble, broken, cut: false }
  }

  /** Repeatedly: the process announces its stop before it stops, and an early signal would have no effect. */
  wake({ process }: VerifiedProcess): void {
    process.kill('SIGCONT')
    this.#waking.push(setInterval(() => process.kill('SIGCONT'), wakeMs))
  }

  forget(process: VerifiedProcess): void {
    this.#processes.splice(this.#processes.indexOf(process), 1)
  }

  async leave(process: VerifiedProcess): Promise<void> {
    this.forget(process)
    this.closeAtEnd({ close: () => void process.kill() })
    const left = await Promise.race([process.drain(), sleep(drainMaxMs, 'late' as const, { ref: false })])
    if (left === 'late') throw new Error(`a process did not stop within ${drainMaxMs / 1_000} s`)
    if (left === null) throw new Error((await process.ended).error ?? 'a process ended before it had drained')
  }

  restartServer(): Promise<void> {
    return this.#bench.databases.restart(this.database.name)
  }

  closeAtEnd(resource: { close(): void }): void {
    this.#opened.push(resource)
  }

  async #replay(task: 'campaign' | 'rebuild'): Promise<void> {
    const file = join(this.#bench.folder, `${this.database.name}.${task}.jsonl`)
    await appendLines(file, this.#scenario.messages)
    const process = this.start({ task, logFile: file })
    const { error } = await Promise.race([
      process.drain().then(() => ({ error: null })),
      process.ended,
      sleep(
        this.#deadline - Date.now(),
        { error: `it did not end within ${this.#seconds} s` },
        { ref: false },
      ),
    ])
    this.forget(process)
    if (error !== null) throw new Error(error)
  }

  async #publish(messages: readonly FedMessage[]): Promise<void> {
    if (this.#bench.facts.needsLog) return appendLines(this.#logFile, messages)
    await publish(this.database.pool as never, scratchQueue, messages)
  }

  start(change: Partial<ChildOrders>): VerifiedProcess {
    const { file, policy, stubPort, allowed, facts } = this.#bench
    const { serial = this.#scenario.fault === null, environment } = this.#scenario
    const started = this.#bench.children.start({
      task: 'run',
      file,
      policy,
      databaseUrl: this.database.url,
      logFile: facts.needsLog ? this.#logFile : null,
      serial,
      sizeMax: null,
      handlerEnvironment: ofProcess(environment, this.#started++),
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

  async untilDecided(): Promise<void> {
    for (;;) {
      this.#bench.signal?.throwIfAborted()
      const left = await this.#unfinished()
      if (left === 0) return
      const failed = await Promise.race([...this.#processes.map(one => one.ended), sleep(pollMs, null)])
      if (failed !== null) throw new Error(failed.error ?? 'the process of the consumer ended by itself')
      if (Date.now() > this.#deadline)
        throw new Error(`${left} messages were not decided within ${this.#seconds} s`)
    }
  }

  /** Messages that are not decided, or bytes of the log that are not read. Unreachable: as before. */
  async #unfinished(): Promise<number> {
    const { pool } = this.database
    const left = await countUnfinished(pool)
    if (!this.#bench.facts.needsLog) return left
    const { size } = await stat(this.#logFile)
    return left + size - (await readFilePosition(pool))
  }

  get #seconds(): number {
    return this.#bench.runMaxMs / 1_000
  }

  get #logFile(): string {
    return join(this.#bench.folder, `${this.database.name}.jsonl`)
  }

  async close(): Promise<void> {
    for (const timer of this.#waking) clearInterval(timer)
    await Promise.all(this.#processes.map(one => one.kill()))
    for (const one of this.#opened) one.close()
  }
}

const pollMs = 20
const drainMaxMs = 8_000
const wakeMs = 50
const laterMs = 60_000

/** Each process has random numbers of its own, and a later one has a later clock: as outside of this run. */
function ofProcess({ nowMs, seed }: HandlerEnvironment, number: number): HandlerEnvironment {
  return { nowMs: nowMs + number * laterMs, seed: seed + number * 7_919 }
}

async function appendLines(path: string, messages: readonly FedMessage[]): Promise<void> {
  await appendFile(path, messages.map(({ body }) => `${body.toString('utf8')}\n`).join(''))
}
