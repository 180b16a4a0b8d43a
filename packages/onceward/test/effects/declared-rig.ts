import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import {
  type ConsumerContract,
  ConsumerProcess,
  defineConsumer,
  realEnvironment,
  runConsumer,
  type SqlTransaction,
  type Store,
} from 'onceward'
import { MemoryQueue } from 'onceward/memory'
import {
  createPool,
  createPostgresStore,
  createQueue,
  migrate,
  postgresQueue,
  publish,
  queueDepth,
} from 'onceward/postgres'
import { type CrashPoint, createTestEnvironment, until } from 'onceward/testing'
import { createDatabase } from '../services/services.ts'
import { contractOf, type EffectName, effects, tables } from './declared-contracts.ts'
import type { Orders } from './declared-process.ts'

export interface Passage {
  /** Messages per batch; default all together. */
  readonly sizeMax?: number
  /** Transactions, counted from 1, that are rolled back at their end as by a serialization failure. */
  readonly rolledBack?: ReadonlySet<number>
  readonly contract?: Partial<ConsumerContract<unknown, SqlTransaction>>
  /** A name that was used before remembers; default a new one. */
  readonly name?: string
}

/** A database with the tables of every declared effect, and ways to pass messages through one. */
export class DeclaredRig {
  readonly url: string
  readonly pool: ReturnType<typeof createPool>
  readonly #drop: () => Promise<void>
  readonly #children: ChildProcess[] = []
  #names = 0

  private constructor(url: string, pool: ReturnType<typeof createPool>, drop: () => Promise<void>) {
    this.url = url
    this.pool = pool
    this.#drop = drop
  }

  static async open(): Promise<DeclaredRig> {
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 6 })
    await migrate(pool)
    await pool.query(tables)
    return new DeclaredRig(database.url, pool, () => database.drop())
  }

  async close(): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL')
    await this.pool.end()
    await this.#drop()
  }

  async rows(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    return (await this.pool.query(sql, values)).rows
  }

  async clear(): Promise<void> {
    await this.pool.query(
      'truncate workflow, workflow_fact, move_seen, onceward.outbox, minutes_fact, minutes_window, entry, balance, deed',
    )
  }

  newName(): string {
    return `declared_${++this.#names}`
  }

  /** Passes messages through the effect on the real engine and store until each is settled. */
  async pass(apply: unknown, messages: readonly object[], passage: Passage = {}) {
    const name = passage.name ?? this.newName()
    const queue = new MemoryQueue()
    const watched = createTestEnvironment()
    queue.publish(...messages.map(message => ({ body: JSON.stringify(message) })))
    const batch = { sizeMax: passage.sizeMax ?? 500 }
    const contract = contractOf(apply, { kind: 'memory' }, name, { batch, ...passage.contract })
    const one = new ConsumerProcess({
      consumer: defineConsumer(contract),
      source: queue,
      store: rollingBack(createPostgresStore({ pool: this.pool }), passage.rolledBack ?? new Set()),
      env: { ...realEnvironment({ log: silent }), metrics: watched.metrics },
      instance: 'test',
    })
    await one.start()
    await until('every message is settled', () => one.state === 'halted' || queue.unsettled === 0)
    const { outcomes } = one.tally
    const { state } = one
    await one.drain().catch(() => {})
    const counted = [...watched.counted].filter(([metric]) => metric.startsWith('results '))
    const results = Object.fromEntries(counted.map(([metric, n]) => [metric.slice('results '.length), n]))
    return { name, outcomes, state, results, unsettled: queue.unsettled }
  }

  async held(name: string) {
    return this.rows(
      `select message_id, state::text, code from onceward.held
       where consumer_id = (select id from onceward.consumer where name = $1) order by message_id`,
      [name],
    )
  }

  async markers(name: string): Promise<Record<string, string>> {
    const rows = await this.rows(
      `select message_id, status::text from onceward.inbox
       where consumer_id = (select id from onceward.consumer where name = $1)`,
      [name],
    )
    return Object.fromEntries(rows.map(row => [row.message_id, row.status]))
  }

  async fillQueue(name: string, messages: readonly object[]): Promise<void> {
    await createQueue(this.pool, name)
    await publish(
      this.pool,
      name,
      messages.map((message, n) => ({ messageId: String(n), body: Buffer.from(JSON.stringify(message)) })),
    )
  }

  /** A process of its own on a PostgreSQL queue; with a point, it kills itself there. */
  startProcess(name: string, effect: EffectName, dieAt?: CrashPoint): ChildProcess {
    const orders: Orders = { name, effect, databaseUrl: this.url, ...(dieAt && { dieAt }) }
    const child = fork(new URL('./declared-process.ts', import.meta.url), {
      env: { ...process.env, DECLARED_ORDERS: JSON.stringify(orders) },
    })
    this.#children.push(child)
    return child
  }

  async diesAt(name: string, effect: EffectName, point: CrashPoint): Promise<string | null> {
    const child = this.startProcess(name, effect, point)
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    return child.signalCode
  }

  /** Reads a queue to its end in this process. */
  async finishQueue(name: string, effect: EffectName): Promise<void> {
    const running = await runConsumer(
      defineConsumer(contractOf(effects[effect](), postgresQueue(name), name)),
      {
        databaseUrl: this.url,
        env: realEnvironment({ log: silent }),
      },
    )
    await this.queueEmpty(name)
    await running.drain()
  }

  queueEmpty(name: string): Promise<unknown> {
    return until('the queue is empty', async () => (await queueDepth(this.pool, name)).messages === 0)
  }
}

export const silent = { debug() {}, info() {}, warn() {}, error() {} }

function rollingBack<Tx>(store: Store<Tx>, rounds: ReadonlySet<number>): Store<Tx> {
  let count = 0
  return {
    ...store,
    transaction: (enrolment, work) =>
      store.transaction(enrolment, async session => {
        const round = ++count
        const result = await work(session)
        if (rounds.has(round)) throw Object.assign(new Error('rolled back by the test'), { code: '40001' })
        return result
      }),
  }
}
