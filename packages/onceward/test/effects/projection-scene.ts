import {
  type ConsumerContract,
  ConsumerProcess,
  defineConsumer,
  type Part,
  type ProjectionOptions,
  projection,
  type Running,
  realEnvironment,
  runConsumer,
  type SqlTransaction,
} from 'onceward'
import { MemoryQueue } from 'onceward/memory'
import {
  createPool,
  createPostgresStore,
  createQueue,
  migrate,
  type PostgresStore,
  postgresQueue,
  publish,
} from 'onceward/postgres'
import { createTestEnvironment, until } from 'onceward/testing'
import { createDatabase } from '../services/services.ts'

/** What the tests project: cases with a state, some of them deleted, some of them corrected. */
export interface CaseFact {
  readonly id: string
  readonly caseId: string
  readonly version: number | string
  readonly state?: string | null
  readonly deleted?: boolean
  readonly corrects?: number
}
type CaseContract = ConsumerContract<CaseFact, SqlTransaction>
export type CaseOptions = ProjectionOptions<CaseFact>

/** A case's fact with an id and a state of its own, as a clean producer would make it. */
export function fact(caseId: string, version: number, more: Partial<CaseFact> = {}): CaseFact {
  return { id: `${caseId}-v${version}`, caseId, version, state: `s${version}`, ...more }
}

export const caseTable = (name: string) => `create table ${name} (
  case_id text collate "C" primary key, version bigint not null, state text, event_id text,
  deleted boolean not null default false, content bytea)`

export const caseOptions = (table: string, changes: Partial<CaseOptions> = {}): CaseOptions => ({
  table,
  key: { case_id: 'caseId' },
  version: { version: 'version' },
  columns: { state: 'state', event_id: m => m.id },
  delete: { column: 'deleted', when: m => m.deleted === true },
  corrects: m => m.corrects,
  gap: 'accept latest',
  ...changes,
})

export interface Driven {
  readonly outcomes: Readonly<Record<string, number>>
  readonly results: Readonly<Record<string, number>>
  readonly state: string
}

export type Server = 'as it is' | 'before 18'

/** A database of its own; every test takes a table and a consumer of its own in it. */
export class ProjectionScene {
  readonly url: string
  readonly pool: ReturnType<typeof createPool>
  readonly #drop: () => Promise<void>
  readonly #server: Server

  private constructor(url: string, drop: () => Promise<void>, server: Server) {
    this.url = url
    this.#server = server
    this.pool = createPool(url, { max: 12 })
    this.#drop = drop
  }

  /** `before 18`: what `drive` starts treats the server as one without `returning old`. */
  static async open(server: Server = 'as it is'): Promise<ProjectionScene> {
    const database = await createDatabase()
    const scene = new ProjectionScene(database.url, () => database.drop(), server)
    await migrate(scene.pool)
    return scene
  }

  async close(): Promise<void> {
    await this.pool.end()
    await this.#drop()
  }

  async table(name: string): Promise<string> {
    await this.pool.query(caseTable(name))
    return name
  }

  contract(name: string, options: CaseOptions, changes: Partial<CaseContract> = {}) {
    return defineConsumer<CaseFact, SqlTransaction>({
      name,
      owner: 'unit',
      risk: 'projection',
      source: { kind: 'memory' },
      identity: { id: m => m.id, orderKey: m => m.caseId },
      order: 'key',
      failure: { attemptsMax: 3, delayMs: 1, delayMaxMs: 1 },
      effect: { apply: projection(options) },
      ...changes,
    })
  }

  /** Lets a consumer of this name end all of these, batch by batch where several are given, and stops it. */
  async drive(
    name: string,
    options: CaseOptions,
    batches: readonly (readonly CaseFact[])[],
    changes: Partial<CaseContract> = {},
    mode: 'live' | 'rebuild' = 'live',
  ): Promise<Driven> {
    const queue = new MemoryQueue()
    const watched = createTestEnvironment()
    const one = new ConsumerProcess({
      consumer: this.contract(name, options, changes),
      source: queue,
      store: this.#store(),
      env: { ...realEnvironment(), metrics: watched.metrics, log: watched.log },
      instance: 'unit',
      mode,
    })
    await one.start()
    one.finished.catch(() => {})
    for (const batch of batches) {
      queue.publish(...batch.map(body => ({ body: JSON.stringify(body), key: body.caseId })))
      await until('the batch is settled', () => queue.unsettled === 0 || one.state === 'halted')
    }
    const { outcomes } = one.tally
    const { state } = one
    await one.drain()
    const results = [...watched.counted].filter(([counted]) => counted.startsWith('results '))
    return {
      outcomes,
      state,
      results: Object.fromEntries(results.map(([counted, n]) => [counted.slice('results '.length), n])),
    }
  }

  #store(): PostgresStore {
    const store = createPostgresStore({ pool: this.pool })
    if (this.#server === 'as it is') return store
    const query: NonNullable<typeof store.sql>['query'] = (text, values) =>
      store.sql!.query(text.replace("current_setting('server_version_num')", "'170000'"), values)
    return { ...store, sql: { query } }
  }

  /** A consumer with its workers on a queue of its own name, until it is drained. */
  async run(
    name: string,
    options: CaseOptions,
    changes: Partial<CaseContract> = {},
    parts?: readonly Part[],
  ): Promise<Running> {
    await createQueue(this.pool, name)
    const consumer = this.contract(name, options, {
      source: postgresQueue(name),
      order: 'none',
      ...changes,
    })
    return runConsumer(consumer, { databaseUrl: this.url, ...(parts && { parts }) })
  }

  async publish(name: string, ...facts: readonly CaseFact[]): Promise<void> {
    await createQueue(this.pool, name)
    await publish(
      this.pool,
      name,
      facts.map(body => ({ body, key: body.caseId })),
    )
  }

  async rows(table: string): Promise<string[]> {
    const { rows } = await this.pool.query(
      `select concat_ws(' ', case_id, version, coalesce(state, '-'), event_id, case when deleted then 'deleted' end) as row
       from ${table} order by case_id`,
    )
    return rows.map(({ row }) => row)
  }

  /** What the effect said; beside it the inbox notes what it set aside. */
  async notes(name: string): Promise<string[]> {
    const { rows } = await this.pool.query(
      `select message_id || ' ' || code as note from onceward.note where consumer_id in (select id from onceward.consumer where name = $1)
         and code not in ('parked', 'quarantined', 'dead', 'repeated') order by 1`,
      [name],
    )
    return rows.map(({ note }) => note)
  }

  async markers(name: string): Promise<string[]> {
    const { rows } = await this.pool.query(
      `select message_id || ' ' || status as marker from onceward.inbox
       where consumer_id in (select id from onceward.consumer where name = $1) order by 1`,
      [name],
    )
    return rows.map(({ marker }) => marker)
  }

  async held(name: string): Promise<string[]> {
    const { rows } = await this.pool.query(
      `select concat_ws(' ', message_id, state, code) as held from onceward.held
       where consumer_id in (select id from onceward.consumer where name = $1) order by 1`,
      [name],
    )
    return rows.map(({ held }) => held)
  }
}
