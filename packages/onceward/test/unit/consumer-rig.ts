import assert from 'node:assert/strict'
import {
  type ConsumerContract,
  ConsumerProcess,
  defineConsumer,
  type HandlerContext,
  type Mode,
} from 'onceward'
import { MemoryQueue, MemoryStore, type MemoryTransaction } from 'onceward/memory'
import { createTestEnvironment, type TestEnvironment } from 'onceward/testing'
import type { Enrolment } from '../../src/ports/enrolment.ts'
import type { Source } from '../../src/ports/source.ts'
import type { Store, StoreTrouble } from '../../src/ports/store.ts'
import type { StoreSession } from '../../src/ports/store-session.ts'

export interface Note {
  readonly id: string
  readonly key?: string
}
export type NoteContext = HandlerContext<Note, MemoryTransaction>
type NoteContract = ConsumerContract<Note, MemoryTransaction>

/** The memory store behind a switch: while `trouble` is set every transaction and ping fails with it. */
export class SwitchableStore implements Store<MemoryTransaction> {
  readonly memory = new MemoryStore()
  readonly capabilities = this.memory.capabilities
  readonly suspects = this.memory.suspects
  readonly checkpoints = this.memory.checkpoints
  trouble: StoreTrouble | null = null
  transactions = 0
  pings = 0
  runsClosed = 0
  readonly halts: string[] = []

  enroll(facts: Enrolment['facts']) {
    return this.memory.enroll(facts)
  }

  closeRun(enrolment: Enrolment, halted?: string) {
    if (halted === undefined) this.runsClosed++
    else this.halts.push(halted)
    return this.memory.closeRun(enrolment, halted)
  }

  async ping() {
    this.pings++
    if (this.trouble !== null) throw new Error('switched off')
  }

  diagnose(error: unknown): StoreTrouble {
    return error instanceof SwitchedOff ? error.trouble : this.memory.diagnose()
  }

  async transaction<T>(
    enrolment: Enrolment,
    work: (session: StoreSession<MemoryTransaction>) => Promise<T>,
  ): Promise<T> {
    this.transactions++
    if (this.trouble !== null) throw new SwitchedOff(this.trouble)
    return this.memory.transaction(enrolment, work)
  }
}

class SwitchedOff extends Error {
  readonly trouble: StoreTrouble
  constructor(trouble: StoreTrouble) {
    super(`switched off: ${trouble}`)
    this.trouble = trouble
  }
}

/** A consumer on memory whose time only moves when the test moves it. */
export class ConsumerRig {
  readonly queue = new MemoryQueue()
  readonly store = new SwitchableStore()
  readonly env: TestEnvironment = createTestEnvironment()
  readonly handled: string[] = []

  process(
    changes: Partial<NoteContract> = {},
    mode: Mode = 'live',
    source: Source = this.queue,
  ): ConsumerProcess<Note, MemoryTransaction> {
    const { store, env } = this
    const consumer = defineConsumer<Note, MemoryTransaction>({
      name: 'notes',
      owner: 'unit',
      risk: 'low value',
      source: { kind: 'memory' },
      identity: { id: m => m.id },
      ...(changes.handleBatch === undefined && { handle: ({ message, tx }) => this.apply(tx, message.id) }),
      ...changes,
    })
    return new ConsumerProcess({ consumer, source, store, env, mode, instance: 'unit' })
  }

  async start(changes: Partial<NoteContract> = {}, mode: Mode = 'live') {
    const one = this.process(changes, mode)
    await one.start()
    return one
  }

  apply(tx: MemoryTransaction, id: string): void {
    tx.set(id, ((tx.get(id) as number | undefined) ?? 0) + 1)
    this.handled.push(id)
  }

  publish(...notes: readonly Note[]): void {
    this.queue.publish(...notes.map(note => ({ body: JSON.stringify(note) })))
  }

  get applied(): Record<string, unknown> {
    return Object.fromEntries(this.store.memory.committed.data)
  }

  logged(level: string, text: RegExp): boolean {
    return this.env.lines.some(line => line.level === level && text.test(line.message))
  }

  expectLogged(level: string, text: RegExp): void {
    assert.ok(this.logged(level, text), `no ${level} line like ${text} in ${JSON.stringify(this.env.lines)}`)
  }
}
