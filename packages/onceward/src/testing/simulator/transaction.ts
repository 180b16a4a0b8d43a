import { OncewardError } from '../../errors.ts'
import type { Progress } from '../../ports/source.ts'
import type { Actor } from './actor.ts'
import type { SimulatedDatabase } from './database.ts'
import type { LockOwner } from './locks.ts'
import type { Action } from './scheduler.ts'
import { storeErrors } from './store-error.ts'
import type { EffectRow, RowOf, TableName } from './tables.ts'

/**
 * Returned by a statement that waits for a lock. The statement continues from where it was when the lock is
 * free.
 */
export const blocked: unique symbol = Symbol('blocked')

interface Statement {
  readonly label: string
  readonly execute: () => unknown
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
  cancelTimeout: (() => void) | null
}

/** The longest wait for another transaction's lock, in simulated time. */
const lockTimeoutMs = 3_000

/**
 * One transaction on one connection, READ COMMITTED: open ──a statement fails──▶ aborted, either ──commit,
 * rollback, server──▶ ended. Its writes are private until they are committed. Statements are executed in the
 * order they were sent. A cut connection fails all of them at once; the server ends the transaction when it
 * notices.
 */
export class SimulatedDatabaseTransaction implements LockOwner {
  readonly actor: Actor
  readonly locks = new Set<string>()
  readonly effects: EffectRow[] = []
  readonly progress: Progress[] = []
  waitsFor: LockOwner | null = null
  refusedAtCommit: Error | null = null
  readonly #database: SimulatedDatabase
  readonly #writes = new Map<TableName, Map<string, unknown>>()
  readonly #sent: Statement[] = []
  #action: Action | null = null
  #state: 'open' | 'aborted' | 'over' = 'open'
  #cut = false

  constructor(database: SimulatedDatabase, actor: Actor) {
    this.#database = database
    this.actor = actor
  }

  get over(): boolean {
    return this.#state === 'over'
  }

  get writes(): ReadonlyMap<TableName, ReadonlyMap<string, unknown>> {
    return this.#writes
  }

  /** What this transaction sees: its own writes, then the committed rows. */
  read<T extends TableName>(table: T, key: string): RowOf<T> | undefined {
    const own = this.#writes.get(table)
    if (own?.has(key)) return (own.get(key) as RowOf<T> | null) ?? undefined
    return this.#database.tables[table].get(key) as RowOf<T> | undefined
  }

  write<T extends TableName>(table: T, key: string, row: RowOf<T> | null): void {
    let rows = this.#writes.get(table)
    if (rows === undefined) {
      rows = new Map()
      this.#writes.set(table, rows)
    }
    rows.set(key, row)
  }

  lock(name: string): boolean {
    return this.#database.locks.acquire(this, name)
  }

  /** Sends a statement. */
  send<T>(label: string, execute: () => T | typeof blocked): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.actor.state === 'dead') return
      this.#sent.push({ label, execute, resolve, reject, cancelTimeout: null })
      if (this.#sent.length === 1) this.#offer()
    })
  }

  commit(): Promise<void> {
    return this.send('COMMIT', () => this.#commit())
  }

  rollback(): Promise<void> {
    if (this.#cut || this.over) return Promise.resolve()
    return this.send('ROLLBACK', () => this.end())
  }

  /** The lock is free: the current statement continues. */
  resume(): void {
    if (!this.over && this.#action === null && this.#sent.length > 0) this.#offer()
  }

  /** The server drops the transaction. */
  end(): void {
    if (this.over) return
    this.#state = 'over'
    this.#database.forget(this)
  }

  /** The connection has ended for the client; for the server once it notices. */
  cut(error: () => Error = storeErrors.cut): void {
    if (this.#cut) return
    this.#breakOff(error)
    if (this.over) return
    this.#database.locks.forgetWait(this)
    const label = `server ends a transaction of ${this.actor.name}`
    this.#database.scheduler.offer(null, label, () => this.end())
  }

  #breakOff(error: () => Error): void {
    this.#cut = true
    const { scheduler } = this.#database
    if (this.#action !== null) scheduler.withdraw(this.#action)
    this.#action = null
    const lost = this.#sent.splice(0)
    scheduler.notify(this.actor, 'connection cut', () => {
      for (const statement of lost) {
        statement.cancelTimeout?.()
        statement.reject(error())
      }
    })
  }

  /** Its process is dead. COMMIT on the wire is still executed. */
  abandon(): void {
    const onTheWire = this.#action !== null && this.#database.scheduler.ready.includes(this.#action)
    if (onTheWire || this.over) return
    this.#sent.splice(0).forEach(statement => void statement.cancelTimeout?.())
    this.#database.locks.forgetWait(this)
    this.#database.scheduler.offer(null, `server ends a transaction of ${this.actor.name}`, () => this.end())
  }

  /** COMMIT has been sent, and would be granted. */
  get couldCommit(): boolean {
    return this.#committing && this.#state === 'open' && this.refusedAtCommit === null
  }

  get #committing(): boolean {
    return this.#sent[0]?.label === 'COMMIT'
  }

  #offer(): void {
    const { scheduler } = this.#database
    const [statement] = this.#sent
    if (this.#cut) return this.#finish(() => this.#refuse())
    this.#action = scheduler.offer(this.actor, statement!.label, () => this.#run(statement!), {
      wire: this.#committing,
    })
  }

  #run(statement: Statement): void {
    this.#action = null
    const { faults, scheduler } = this.#database
    if (this.#database.down || faults.strike('connection cut')) {
      scheduler.remark('the connection is cut')
      return this.cut(this.#database.down ? storeErrors.refused : storeErrors.cut)
    }
    if (statement.label === 'COMMIT' && faults.strike('commit late')) return this.#commitLate()
    let value: unknown
    try {
      value = this.#execute(statement)
    } catch (error) {
      if (statement.label === 'COMMIT') this.end()
      else if (this.#state === 'open') this.#state = 'aborted'
      scheduler.remark(`→ ${error instanceof Error ? error.message : error}`)
      return this.#finish(() => {
        throw error
      })
    }
    if (value === blocked) return this.#wait(statement)
    if (this.#cut) return
    this.#finish(() => value)
  }

  #execute(statement: Statement): unknown {
    const ends = statement.label === 'ROLLBACK' || statement.label === 'COMMIT'
    if (this.#state === 'aborted' && !ends) throw storeErrors.aborted()
    if (statement.label !== 'ROLLBACK' && this.#database.faults.strike('contention')) {
      throw storeErrors.contention()
    }
    return statement.execute()
  }

  #wait(statement: Statement): void {
    const { scheduler, locks } = this.#database
    scheduler.remark('→ waits for a lock')
    statement.cancelTimeout ??= scheduler.after(null, lockTimeoutMs, () => {
      if (this.#sent[0] !== statement || this.over || this.#cut) return
      this.#database.faults.struck('lock wait')
      locks.forgetWait(this)
      if (this.#action !== null) scheduler.withdraw(this.#action)
      this.#action = null
      this.#state = 'aborted'
      this.#finish(() => {
        throw storeErrors.lockWait()
      })
    })
  }

  #finish(by: () => unknown): void {
    const statement = this.#sent.shift()!
    statement.cancelTimeout?.()
    this.#database.scheduler.answer(this.actor, statement.resolve as never, statement.reject, by)
    if (this.#sent.length > 0) this.#offer()
  }

  #refuse(): never {
    throw storeErrors.cut()
  }

  #commit(): void {
    if (this.#state === 'aborted') {
      throw new OncewardError(
        'commit_not_confirmed',
        'COMMIT was answered with ROLLBACK. Nothing was committed.',
        { cause: storeErrors.aborted() },
      )
    }
    if (this.refusedAtCommit !== null) throw this.refusedAtCommit
    this.take()
  }

  /** The client drops the connection; the server executes the COMMIT already sent when it reaches it. */
  #commitLate(): void {
    const { scheduler } = this.#database
    scheduler.remark('the connection is cut, COMMIT is still on its way')
    const isGranted = this.couldCommit
    this.#breakOff(storeErrors.cut)
    scheduler.offer(null, `COMMIT of ${this.actor.name} arrives`, () => {
      if (isGranted && !this.over) this.#database.apply(this)
      this.end()
    })
  }

  /** Becomes visible and ends; the answer may get lost. */
  take(): void {
    const { faults, scheduler } = this.#database
    this.#database.apply(this)
    this.end()
    if (!faults.strike('commit reply lost')) return
    scheduler.remark('committed, and the answer is lost')
    this.cut()
  }
}
