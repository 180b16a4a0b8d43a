import type { Actor } from './actor.ts'
import type { Faults } from './faults.ts'
import { Locks } from './locks.ts'
import type { Scheduler } from './scheduler.ts'
import { type EffectRow, emptyTables } from './tables.ts'
import { SimulatedDatabaseTransaction } from './transaction.ts'

/** Sees every commit, just before and just after it becomes visible. */
export interface CommitWatcher {
  committing(transaction: SimulatedDatabaseTransaction): void
  committed(transaction: SimulatedDatabaseTransaction): void
}

/** The server of all simulated stores: the committed rows, the locks, and whether it is available. */
export class SimulatedDatabase {
  readonly scheduler: Scheduler
  readonly faults: Faults
  readonly tables = emptyTables()
  /** In order of their commits. */
  readonly effects: EffectRow[] = []
  readonly locks = new Locks()
  watcher: CommitWatcher | null = null
  readonly #open = new Set<SimulatedDatabaseTransaction>()
  #down = false

  constructor(scheduler: Scheduler, faults: Faults) {
    this.scheduler = scheduler
    this.faults = faults
  }

  get down(): boolean {
    return this.#down
  }

  begin(actor: Actor): SimulatedDatabaseTransaction {
    const transaction = new SimulatedDatabaseTransaction(this, actor)
    this.#open.add(transaction)
    return transaction
  }

  apply(transaction: SimulatedDatabaseTransaction): void {
    this.watcher?.committing(transaction)
    for (const [table, rows] of transaction.writes) {
      const into = this.tables[table] as Map<string, unknown>
      for (const [key, row] of rows) {
        if (row === null) into.delete(key)
        else into.set(key, row)
      }
    }
    this.effects.push(...transaction.effects)
    this.watcher?.committed(transaction)
  }

  forget(transaction: SimulatedDatabaseTransaction): void {
    this.#open.delete(transaction)
    this.locks.release(transaction)
  }

  /** The process died: the server rolls its open transactions back once it notices. */
  abandon(actor: Actor): void {
    for (const transaction of [...this.#open]) if (transaction.actor === actor) transaction.abandon()
  }

  /** As `idle_in_transaction_session_timeout` does to a process that stands still. */
  endIdle(actor: Actor): void {
    for (const transaction of [...this.#open]) {
      if (transaction.actor !== actor) continue
      transaction.end()
      transaction.cut()
    }
  }

  /** The server crashes: open transactions vanish, except a COMMIT that it may just have executed. */
  crash(): void {
    this.#down = true
    for (const transaction of [...this.#open]) {
      if (transaction.couldCommit && this.scheduler.draws.chance(0.5)) this.apply(transaction)
      transaction.end()
      transaction.cut()
    }
    this.scheduler.offer(null, 'the store is back', () => this.recover())
  }

  recover(): void {
    this.#down = false
  }
}
