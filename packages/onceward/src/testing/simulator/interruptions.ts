import type { Actor } from './actor.ts'
import type { SimulatedBroker } from './broker.ts'
import type { SimulatedDatabase } from './database.ts'
import type { FaultKind, Faults } from './faults.ts'
import type { SimulatedProcess } from './process.ts'
import type { Scheduler } from './scheduler.ts'

/** Those that strike between two steps; the others strike inside a call. */
const kinds: readonly FaultKind[] = [
  'crash',
  'freeze',
  'suspend',
  'half-open link',
  'drain',
  'store outage',
  'slow',
  'disconnect',
  'rebalance',
  'partition lost',
]

/** Shorter and longer than the time-outs of handlers and locks, and than pauses of a breaker. */
const halfOpenMs = [50, 2_000, 20_000, 90_000]
const sleepsMs = [2_000, 60_000, 3_600_000]

/** Faults of processes and servers, between two steps of a schedule. */
export class Interruptions {
  readonly #scheduler: Scheduler
  readonly #faults: Faults
  readonly #database: SimulatedDatabase
  readonly #broker: SimulatedBroker
  readonly #processes: readonly SimulatedProcess[]

  constructor(
    scheduler: Scheduler,
    faults: Faults,
    database: SimulatedDatabase,
    broker: SimulatedBroker,
    processes: readonly SimulatedProcess[],
  ) {
    this.#scheduler = scheduler
    this.#faults = faults
    this.#database = database
    this.#broker = broker
    this.#processes = processes
  }

  /** True when a fault struck. */
  maybe(): boolean {
    const kind = this.#faults.due(kinds)
    if (kind === null || !this.#happens(kind)) return false
    this.#faults.spend(kind)
    return true
  }

  #happens(kind: FaultKind): boolean {
    switch (kind) {
      case 'store outage':
        if (this.#database.down) return false
        this.#say('the store goes down')
        this.#database.crash()
        return true
      case 'rebalance':
        this.#say('a partition is asked for')
        return this.#broker.rebalance!()
      case 'partition lost':
        this.#say('a partition is reassigned')
        return this.#broker.loseOne!()
      case 'slow':
        this.#say('time passes')
        return this.#scheduler.leap()
      default:
        return this.#happensToOne(kind)
    }
  }

  #happensToOne(kind: FaultKind): boolean {
    const one = this.#scheduler.draws.pick(this.#processes)
    if (one.actor === null) return false
    const { actor } = one
    switch (kind) {
      case 'crash':
        this.#say(`${actor.name} is killed`)
        this.#faults.killedAfter(one.reached)
        one.kill()
        return true
      case 'freeze':
        return this.#freeze(actor)
      case 'suspend':
        return this.#suspend(one, actor)
      case 'half-open link':
        return this.#halfOpen(actor)
      case 'drain':
        if (!one.running) return false
        this.#say(`${actor.name} is asked to stop`)
        void one.drain().catch(() => {})
        return true
      default:
        if (!this.#broker.disconnect(actor)) return false
        this.#say(`${actor.name} is disconnected`)
        return true
    }
  }

  /** All others continue meanwhile, and time passes for it alone when it wakes. */
  #suspend(one: SimulatedProcess, actor: Actor): boolean {
    if (!this.#freeze(actor)) return false
    one.suspend(this.#scheduler.draws.pick(sleepsMs))
    return true
  }

  /** Its timers fire meanwhile, and the servers may give up on it. */
  #halfOpen(actor: Actor): boolean {
    const { draws } = this.#scheduler
    if (actor.state === 'dead' || this.#scheduler.isCutOff(actor)) return false
    this.#say(`nothing passes between ${actor.name} and its servers`)
    this.#scheduler.cutOff(actor)
    const thenCut = draws.chance(0.6)
    this.#scheduler.after(null, draws.pick(halfOpenMs), () => {
      if (actor.state === 'dead') return
      this.#scheduler.remark(`the link of ${actor.name} ${thenCut ? 'is cut' : 'passes again'}`)
      if (thenCut) this.#giveUpOn(actor)
      this.#scheduler.reconnect(actor)
    })
    if (draws.chance(0.5))
      this.#scheduler.offer(null, `the servers give up on ${actor.name}`, () => {
        if (this.#scheduler.isCutOff(actor)) this.#giveUpOn(actor)
      })
    return true
  }

  #giveUpOn(actor: Actor): void {
    this.#broker.disconnect(actor)
    this.#database.endIdle(actor)
  }

  /** It stands still; the servers may time out before it continues. */
  #freeze(actor: Actor): boolean {
    if (actor.state !== 'alive') return false
    this.#say(`${actor.name} stands still`)
    actor.freeze()
    const meanwhile = (label: string, then: () => void) =>
      this.#scheduler.offer(null, label, () => {
        if (actor.state === 'frozen') then()
      })
    meanwhile(`${actor.name} continues`, () => actor.thaw())
    meanwhile(`the broker gives up on ${actor.name}`, () => void this.#broker.disconnect(actor))
    meanwhile(`the store ends idle transactions of ${actor.name}`, () => this.#database.endIdle(actor))
    return true
  }

  #say(what: string): void {
    this.#scheduler.remark(`FAULT: ${what}`)
  }
}
