import {
  type ConsumerContract,
  ConsumerProcess,
  defineConsumer,
  type HandlerContext,
  realEnvironment,
  type SqlTransaction,
} from 'onceward'
import { MemoryQueue } from 'onceward/memory'
import { createPool, createPostgresStore, migrate } from 'onceward/postgres'
import { type LogLine, until } from 'onceward/testing'
import { createDatabase } from '../services/services.ts'

export interface Row {
  readonly id: string
}
export type RowContext = HandlerContext<Row, SqlTransaction>
type Pool = ReturnType<typeof createPool>

/** A separate database with a business table that handlers write to. */
export class PostgresRig {
  readonly pool: Pool
  readonly lines: LogLine[] = []
  readonly #drop: () => Promise<void>
  readonly #storePool: Pool
  #consumers = 0

  private constructor(pool: Pool, storePool: Pool, drop: () => Promise<void>) {
    this.pool = pool
    this.#storePool = storePool
    this.#drop = drop
  }

  static async open(): Promise<PostgresRig> {
    const database = await createDatabase()
    const pool = createPool(database.url)
    await migrate(pool)
    await pool.query('create table written (id text not null)')
    return new PostgresRig(pool, createPool(database.url), () => database.drop())
  }

  store() {
    return createPostgresStore({ pool: this.#storePool, log: this.#log() })
  }

  /** Publishes, runs a consumer with this handler until every delivery has ended, and stops it. */
  async consume(
    ids: readonly string[],
    handle: (context: RowContext) => Promise<void>,
    changes: Partial<ConsumerContract<Row, SqlTransaction>> = {},
  ) {
    const queue = new MemoryQueue()
    queue.publish(...ids.map(id => ({ body: JSON.stringify({ id }) })))
    const consumer = defineConsumer<Row, SqlTransaction>({
      name: `mistakes_${++this.#consumers}`,
      owner: 'unit',
      risk: 'low value',
      source: { kind: 'memory' },
      identity: { id: m => m.id },
      failure: { attemptsMax: 2, delayMs: 1, delayMaxMs: 1 },
      handle,
      ...changes,
    })
    const env = { ...realEnvironment(), log: this.#log() }
    const one = new ConsumerProcess({ consumer, source: queue, store: this.store(), env, instance: 'unit' })
    await one.start()
    const ended = () => {
      const { retry: _, ...counts } = one.tally.outcomes
      return Object.values(counts).reduce((sum, count) => sum + count, 0)
    }
    await until('every delivery ended', () => one.state === 'halted' || ended() >= ids.length)
    const { outcomes } = one.tally
    await one.drain()
    return { outcomes, state: one.state, unsettled: queue.unsettled, name: consumer.name }
  }

  async written(): Promise<string[]> {
    return (await this.pool.query('select id from written order by id')).rows.map(row => row.id)
  }

  async held(
    name: string,
  ): Promise<
    { message_id: string; state: string; code: string; reason: string; error: string; attempts: number }[]
  > {
    const sql = `select message_id, state::text, code, reason, error, attempts from onceward.held
      where consumer_id = (select id from onceward.consumer where name = $1) order by message_id`
    return (await this.pool.query(sql, [name])).rows
  }

  async markers(name: string): Promise<string[]> {
    const sql = `select message_id || ' ' || status as marker from onceward.inbox
      where consumer_id = (select id from onceward.consumer where name = $1) order by message_id`
    return (await this.pool.query(sql, [name])).rows.map(row => row.marker)
  }

  async reset(): Promise<void> {
    this.lines.length = 0
    await this.pool.query('truncate written')
  }

  async close(): Promise<void> {
    await Promise.all([this.pool.end(), this.#storePool.end()])
    await this.#drop()
  }

  #log() {
    const line =
      (level: LogLine['level']) =>
      (message: string, fields: object = {}) =>
        void this.lines.push({ level, message, fields: { ...fields } })
    return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
  }
}

export const write = (tx: SqlTransaction, id: string) =>
  tx.query('insert into written (id) values ($1)', [id])
