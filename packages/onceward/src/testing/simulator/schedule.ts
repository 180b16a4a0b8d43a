import type { ConsumerContract } from '../../contract/contract.ts'
import { defineConsumer } from '../../contract/define-consumer.ts'
import type { CrashPoint } from '../../crash-points.ts'
import type { Source } from '../../ports/source.ts'
import type { Store } from '../../ports/store.ts'
import type { Actor } from './actor.ts'
import type { SimulatedBroker } from './broker.ts'
import { SimulatedDatabase } from './database.ts'
import { Draws } from './draws.ts'
import { type FaultKind, Faults } from './faults.ts'
import { checkEnd } from './final-check.ts'
import type { SimulatedTx } from './handler-transaction.ts'
import { Interruptions } from './interruptions.ts'
import { type Broken, Invariants } from './invariants.ts'
import type { SimulatedJob } from './job.ts'
import { SimulatedLog } from './log.ts'
import { SimulatedProcess } from './process.ts'
import { SimulatedQueue } from './queue.ts'
import { contractOf, type Scenario } from './scenarios.ts'
import { Scheduler } from './scheduler.ts'
import { slowSchema } from './slow-schema.ts'
import { SimulatedStore } from './store.ts'
import { Trace } from './trace.ts'
import { Workload } from './workload.ts'

/** Wraps the simulated parts as the engine sees them, which is how seeded bugs are inserted. */
export interface Around {
  contract?(
    contract: ConsumerContract<SimulatedJob, SimulatedTx>,
  ): ConsumerContract<SimulatedJob, SimulatedTx>
  source?(source: Source): Source
  store?(store: SimulatedStore): Store<SimulatedTx>
}

export interface ScheduleOptions {
  readonly seed: number
  /** The name is part of the seed. */
  readonly name: string
  readonly scenario: Scenario
  readonly faults: readonly FaultKind[]
  readonly traced?: boolean
  readonly around?: Around
}

/** The end of one simulated schedule. */
export interface ScheduleResult {
  readonly steps: number
  readonly hash: string
  readonly fired: ReadonlyMap<FaultKind, number>
  readonly kills: ReadonlyMap<CrashPoint, number>
  readonly broken: Broken | null
  readonly trace: readonly string[]
}

/** Steps after which faults stop, and steps after which an undrained backlog counts as stuck. */
const faultStepsMax = 300
const stepsMax = 4_000

/** One seed, one schedule: the number determines workload, sizes, faults and the order of steps. */
export class Schedule {
  readonly #draws: Draws
  readonly #trace: Trace
  readonly #scheduler: Scheduler
  readonly #faults: Faults
  readonly #database: SimulatedDatabase
  readonly #workload: Workload
  readonly #scenario: Scenario
  readonly #invariants: Invariants
  readonly #broker: SimulatedBroker
  readonly #processes: readonly SimulatedProcess[]
  readonly #interruptions: Interruptions
  #published = 0
  #restarts = true

  constructor({ seed, name, scenario, faults, traced = false, around = {} }: ScheduleOptions) {
    this.#draws = new Draws(seed, name)
    this.#trace = new Trace(traced)
    this.#scenario = scenario
    this.#scheduler = new Scheduler(this.#draws, this.#trace, {
      stickiness: this.#draws.pick([0, 0.5, 0.9]),
      lateAnswers: this.#draws.pick([0, 0.1, 0.3]),
      restlessness: this.#draws.pick([0, 0.05, 0.2]),
    })
    this.#faults = new Faults(this.#draws, faults)
    this.#workload = new Workload(this.#draws, scenario)
    this.#database = new SimulatedDatabase(this.#scheduler, this.#faults)
    this.#invariants = new Invariants(this.#database, this.#workload, scenario)
    this.#database.watcher = this.#invariants
    this.#broker = this.#createBroker()
    this.#processes = this.#createProcesses(around)
    this.#interruptions = new Interruptions(
      this.#scheduler,
      this.#faults,
      this.#database,
      this.#broker,
      this.#processes,
    )
    this.#publishLater()
  }

  async run(): Promise<ScheduleResult> {
    while (!this.#over()) {
      if (this.#scheduler.steps >= faultStepsMax) this.#faults.stop()
      if (this.#interruptions.maybe()) await this.#scheduler.quiet()
      if (!(await this.#scheduler.step())) {
        this.#invariants.breach('the backlog drains', 'nothing can happen any more, and not all is done')
      } else if (this.#scheduler.steps > stepsMax) {
        this.#invariants.breach('the backlog drains', `not within ${stepsMax} steps`)
      }
    }
    this.#faults.stop()
    if (this.#invariants.broken === null && this.#draws.chance(0.3)) await this.#drain()
    if (this.#invariants.broken === null) {
      checkEnd(this.#workload, this.#scenario, this.#database, this.#invariants)
    }
    const { broken } = this.#invariants
    if (broken !== null) this.#scheduler.remark(`BROKEN: ${broken.invariant}: ${broken.what}`)
    return {
      steps: this.#scheduler.steps,
      hash: this.#trace.hash,
      fired: this.#faults.fired,
      kills: this.#faults.kills,
      broken,
      trace: this.#trace.lines,
    }
  }

  #over(): boolean {
    if (this.#invariants.broken !== null) return true
    return this.#published === this.#workload.publications.length && this.#broker.drained
  }

  /** Asks every running engine to stop, and waits for it. */
  async #drain(): Promise<void> {
    this.#restarts = false
    const running = this.#processes.filter(one => one.running)
    const ended = Promise.all(running.map(one => one.drain())).then(
      () => true,
      () => true,
    )
    let over = false
    void ended.then(() => {
      over = true
    })
    const end = this.#scheduler.steps + 1_000
    while (!over && this.#invariants.broken === null) {
      if (!(await this.#scheduler.step()) || this.#scheduler.steps > end)
        this.#invariants.breach('a drain ends', `${running.filter(one => one.running).length} still run`)
    }
  }

  #createBroker(): SimulatedBroker {
    const { source, order, settle } = this.#scenario
    if (source === 'queue')
      return new SimulatedQueue(this.#scheduler, this.#faults, this.#invariants, order === 'key')
    const { checkpoints } = this.#database.tables
    const log = new SimulatedLog(this.#scheduler, this.#faults, this.#invariants, {
      partitions: this.#draws.between(1, 3),
      keeper: settle === 'with effect' ? 'store' : 'broker',
      storedAt: partition => Number(checkpoints.get(partition)?.stored?.next ?? 0),
    })
    this.#invariants.recordsBefore = (partition, offset) => log.before(partition, offset)
    return log
  }

  #createProcesses({ contract = same, source = same, store = same }: Around): SimulatedProcess[] {
    const schedule = this
    const whole = contract(contractOf(this.#scenario, this.#workload, this.#draws))
    const consumer = defineConsumer(whole)
    const slow = (actor: Actor) => defineConsumer({ ...whole, message: slowSchema(actor, this.#scheduler) })
    const parts = {
      consumerOf: (actor: Actor) => (this.#scenario.schema === 'slow' ? slow(actor) : consumer),
      sourceOf: (actor: Actor) => source(this.#broker.sourceOf(actor)),
      storeOf: (actor: Actor) => store(new SimulatedStore(this.#database, actor)),
      onHalt: (why: string) => this.#invariants.breach('nothing halts', why),
      onEnd: (actor: Actor) => this.#bury(actor),
      get restarts() {
        return schedule.#restarts
      },
    }
    const count = this.#draws.between(1, 3)
    return Array.from(
      { length: count },
      (_, index) => new SimulatedProcess(index + 1, this.#scheduler, parts),
    )
  }

  #publishLater(): void {
    this.#scheduler.offer(null, 'publish', () => {
      const { publications } = this.#workload
      const until = Math.min(publications.length, this.#published + this.#draws.between(1, 4))
      while (this.#published < until) this.#broker.publish(publications[this.#published++]!)
      if (this.#published < publications.length) this.#publishLater()
    })
  }

  /** What a process leaves behind: requests on the wire, open transactions, deliveries. */
  #bury(actor: Actor): void {
    this.#scheduler.bury(actor, () => this.#draws.chance(0.5))
    this.#database.abandon(actor)
    this.#scheduler.offer(
      null,
      `the broker notices that ${actor.name} is gone`,
      () => void this.#broker.disconnect(actor),
    )
  }
}

function same<T>(part: T): T {
  return part
}
