import {
  type ConsumerContract,
  defineConsumer,
  type Environment,
  type HandlerContext,
  type Part,
  type Running,
  realEnvironment,
  runConsumer,
  type SqlTransaction,
} from 'onceward'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { createTestEnvironment, until } from 'onceward/testing'
import { createDatabase } from '../services/services.ts'

export interface Job {
  readonly id: string
  readonly key?: string
  readonly version?: number
  readonly part?: string
}
export type JobContext = HandlerContext<Job, SqlTransaction>
type JobContract = ConsumerContract<Job, SqlTransaction>

export interface HeldRow {
  readonly id: string
  readonly message_id: string
  readonly state: string
  readonly epoch: number
  readonly attempts: number
  readonly code: string
  readonly leased: boolean
  readonly due: boolean
}

/** A database with a business table; each test gets a consumer and a queue of its own. */
export class Scene {
  readonly url: string
  readonly pool: ReturnType<typeof createPool>
  readonly #drop: () => Promise<void>
  readonly #running = new Set<Running>()
  readonly #watched = createTestEnvironment()

  private constructor(url: string, drop: () => Promise<void>) {
    this.url = url
    this.#drop = drop
    this.pool = createPool(url, { max: 4 })
  }

  /** How often a metric was told of something, over all processes started here. */
  counted(name: string): number {
    return this.#watched.counted.get(name) ?? 0
  }

  static async open(): Promise<Scene> {
    const database = await createDatabase()
    const scene = new Scene(database.url, () => database.drop())
    await migrate(scene.pool)
    await scene.pool.query('create table done (place bigserial, consumer text, id text, by integer)')
    return scene
  }

  async publish(queue: string, ...jobs: readonly Job[]): Promise<void> {
    await createQueue(this.pool, queue)
    await publish(
      this.pool,
      queue,
      jobs.map(body => ({ body, key: body.key })),
    )
  }

  async start(
    name: string,
    changes: Partial<JobContract>,
    { parts, env }: { readonly parts?: readonly Part[]; readonly env?: Partial<Environment> } = {},
  ): Promise<Running> {
    const consumer = defineConsumer(jobContract(name, changes))
    const { metrics } = this.#watched
    const running = await runConsumer(consumer, {
      databaseUrl: this.url,
      env: { ...realEnvironment(), metrics, ...env },
      ...(parts && { parts }),
    })
    this.#running.add(running)
    return running
  }

  /** Runs only the part that stores, until everything published is settled. */
  async store(name: string, changes: Partial<JobContract>, ...jobs: readonly Job[]): Promise<void> {
    await this.publish(name, ...jobs)
    const running = await this.start(name, changes, { parts: ['consumer'] })
    await until('everything is settled', async () => (await this.depth(name)) === 0)
    await running.drain()
  }

  async depth(queue: string): Promise<number> {
    const sql =
      'select count(*)::int from onceward.queue_message where queue_id = (select id from onceward.queue where name = $1)'
    return (await this.pool.query(sql, [queue])).rows[0].count
  }

  async done(name: string): Promise<string[]> {
    const { rows } = await this.pool.query('select id from done where consumer = $1 order by place', [name])
    return rows.map(row => row.id)
  }

  async markers(name: string): Promise<string[]> {
    const sql = `select message_id || ' ' || status as marker from onceward.inbox
      where consumer_id = (select id from onceward.consumer where name = $1) order by message_id`
    return (await this.pool.query(sql, [name])).rows.map(row => row.marker)
  }

  async held(name: string): Promise<HeldRow[]> {
    const sql = `select id::text, message_id, state::text, epoch, attempts, code, coalesce(lease_until > clock_timestamp(), false) as leased,
        coalesce(due_at <= clock_timestamp(), false) as due
      from onceward.held where consumer_id = (select id from onceward.consumer where name = $1) order by held.id`
    return (await this.pool.query(sql, [name])).rows
  }

  async leave(running: Running): Promise<void> {
    this.#running.delete(running)
    running.leave()
    await running.finished.catch(() => {})
  }

  async close(): Promise<void> {
    for (const running of this.#running) await this.leave(running)
    await this.pool.end()
    await this.#drop()
  }
}

export function jobContract(name: string, changes: Partial<JobContract> = {}): JobContract {
  const { inbox, ...rest } = changes
  const given = rest.handle ?? rest.handleBatch ?? rest.effect?.apply
  return {
    name,
    owner: 'tests',
    risk: 'money',
    source: postgresQueue(name, { keyOrder: rest.order === 'key' }),
    identity: { id: m => m.id, orderKey: m => m.key },
    failure: { attemptsMax: 2, delayMs: 10, delayMaxMs: 20 },
    inbox: { mode: 'stored', leaseMs: 60_000, ...inbox },
    ...(given === undefined && { handle: context => write(context, name) }),
    ...rest,
  }
}

export async function write({ message, tx }: JobContext, name: string): Promise<void> {
  await tx.query('insert into done (consumer, id, by) values ($1, $2, $3)', [name, message.id, process.pid])
}
