import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import {
  type Consumer,
  type ConsumerContract,
  defineConsumer,
  openReplay,
  type Replay,
  type ReplayOptions,
  runConsumer,
  type SqlTransaction,
} from 'onceward'
import { file } from 'onceward/file'
import { createPool, createQueue, migrate } from 'onceward/postgres'
import { FileRangeReader } from '../../src/drivers/file/file-range-reader.ts'
import { createDatabase } from '../services/services.ts'

export interface Fact {
  readonly id: string
  readonly key?: string
}
export type FactContract = ConsumerContract<Fact, SqlTransaction>

/** A handler that counts how often each message was applied, and asks for everything it may ask for. */
export function factContract(path: string, changes: Partial<FactContract> = {}): FactContract {
  return {
    name: 'facts',
    owner: 'tests',
    risk: 'projection',
    source: file(path, { until: 'end' }),
    identity: { id: fact => fact.id, aggregateId: fact => fact.key },
    effect: {
      external: { gateway: { kind: 'http', url: 'https://gateway.example/charge', policy: 'keyed' } },
      publish: { out: { broker: 'postgres', queue: 'out' } },
    },
    batch: { sizeMax: 10, deliveriesMax: 40 },
    replay: {
      modes: ['replay', 'backfill', 'rebuild', 'repair', 'forensic'],
      tables: ['effect'],
      compare: { effect: { columns: ['times'] } },
    },
    async handle({ message, tx, effects, mode }) {
      await tx.query(
        `insert into effect (id, mode) values ($1, $2) on conflict (id) do update set times = effect.times + 1`,
        [message.id, mode],
      )
      effects.external('gateway', { key: message.id, body: message })
      effects.publish('out', { body: message })
    },
    ...changes,
  }
}

/** A database, a folder with a file of facts, and a consumer of it. */
export class Scene {
  readonly url: string
  readonly pool: ReturnType<typeof createPool>
  readonly path: string
  readonly #opened: Replay[] = []

  private constructor(url: string, folder: string) {
    this.url = url
    this.pool = createPool(url, { max: 4 })
    this.path = join(folder, 'facts.jsonl')
  }

  static async open(t: TestContext): Promise<Scene> {
    const database = await createDatabase()
    const folder = await mkdtemp(join(tmpdir(), 'onceward-replay-'))
    const scene = new Scene(database.url, folder)
    t.after(async () => {
      for (const replay of scene.#opened) await replay.close()
      await scene.pool.end()
      await database.drop()
      await rm(folder, { recursive: true })
    })
    await migrate(scene.pool)
    await scene.pool.query(
      `create table effect (id text primary key, times integer not null default 1, mode text not null)`,
    )
    await createQueue(scene.pool, 'out')
    await scene.pool.query('insert into onceward.person (role_name) values (session_user)')
    return scene
  }

  async write(...facts: readonly Fact[]): Promise<void> {
    await appendFile(this.path, facts.map(fact => `${JSON.stringify(fact)}\n`).join(''))
  }

  contract(changes: Partial<FactContract> = {}): Consumer<Fact, SqlTransaction> {
    return defineConsumer(factContract(this.path, changes))
  }

  async replay(
    consumer: Consumer<Fact, SqlTransaction>,
    options: Partial<ReplayOptions> = {},
  ): Promise<Replay> {
    const replay = await openReplay(consumer, {
      databaseUrl: this.url,
      ...options,
    })
    this.#opened.push(replay)
    return replay
  }

  /** Consumes everything in the file, live. */
  async live(consumer: Consumer<Fact, SqlTransaction>): Promise<void> {
    const running = await runConsumer(consumer, { databaseUrl: this.url, parts: ['consumer'] })
    await running.finished
  }

  /** As if the live consumer had begun behind what is in the file. */
  async passed(consumer: Consumer<Fact, SqlTransaction>): Promise<void> {
    const { name, generation, owner, risk } = consumer
    const [range] = await new FileRangeReader(this.path).survey({ start: 'first', end: 'next' })
    await this.pool.query(
      `with c as (
         insert into onceward.consumer (name, generation, owner, risk) values ($1, $2, $3, $4)
         on conflict (name, generation) do update set owner = excluded.owner returning id)
       insert into onceward.checkpoint (consumer_id, partition, epoch, run_id, incarnation, next)
       select id, $5, 1, 0, $6, $7 from c on conflict (consumer_id, partition) do update set next = excluded.next`,
      [name, generation, owner, risk, range!.partition, range!.incarnation, range!.to],
    )
  }

  /** Created and previewed. */
  async planned(replay: Replay, request: Partial<Parameters<Replay['create']>[0]> = {}): Promise<string> {
    const { id } = await replay.create({
      mode: 'replay',
      selection: { of: 'log', start: 'first', end: 'next' },
      reason: 'a test',
      ...request,
    })
    await replay.preview(id)
    return id
  }

  async rows<Row = Record<string, unknown>>(sql: string, ...values: readonly unknown[]): Promise<Row[]> {
    return (await this.pool.query(sql, values)).rows
  }

  /** Ids applied in a mode, and how often at most. */
  async applied(mode: string): Promise<string[]> {
    const rows = await this.rows<{ id: string }>(`select id from effect where mode = $1 order by id`, mode)
    return rows.map(row => row.id)
  }

  async outcomes(id: string): Promise<Record<string, number>> {
    const rows = await this.rows<{ outcome: string; count: string }>(
      'select outcome, count from onceward.campaign_outcome where campaign_id = $1 order by outcome',
      id,
    )
    return Object.fromEntries(rows.map(row => [row.outcome, Number(row.count)]))
  }
}

export const facts = (count: number, prefix = 'f'): Fact[] =>
  Array.from({ length: count }, (_, index) => ({ id: `${prefix}${String(index).padStart(5, '0')}` }))
