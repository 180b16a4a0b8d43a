import { randomBytes } from 'node:crypto'
import { migrate } from '../drivers/postgres/migrate.ts'
import { createPool, type OwnPool } from '../drivers/postgres/pool.ts'
import { createQueue } from '../drivers/postgres/queue/queue.ts'
import { adoptCopy, recordedEnvironment, scratchQueue } from '../drivers/postgres/verify/scratch-copy.ts'
import { errorText, OncewardError } from '../errors.ts'
import type { VerifyServer } from './verify-server.ts'

/** Begins the name of every database that verify creates. Others are never changed. */
const mark = 'onceward_verify_'

export interface ScratchDatabase {
  readonly url: string
  readonly name: string
  readonly pool: OwnPool
  drop(): Promise<void>
}

/** Databases of one verification: a template with the user's schema, and a fresh copy of it for each run. */
export class ScratchDatabases {
  readonly #admin: OwnPool
  readonly #server: VerifyServer
  readonly #prefix: string
  readonly #standing = new Set<string>()
  #dropping: Promise<void> = Promise.resolve()
  #copies = 0
  #next: Promise<ScratchDatabase> | null = null
  #copying: Promise<unknown> = Promise.resolve()

  private constructor(server: VerifyServer, admin: OwnPool) {
    this.#server = server
    this.#admin = admin
    this.#prefix = `${mark}${randomBytes(4).toString('hex')}`
  }

  /** Creates the template. `prepare` gets the address of a database with the Onceward schema. */
  static async open(
    server: VerifyServer,
    prepare: (url: string, pool: OwnPool) => Promise<void>,
  ): Promise<ScratchDatabases> {
    const admin = createPool(server.url, { max: 3 })
    const databases = new ScratchDatabases(server, admin)
    try {
      await refuseNamed(admin)
      // No other process uses the server, so what an interrupted verification left is dropped.
      if (server.restart !== null) await databases.#sweep()
      await databases.#makeTemplate(prepare)
      return databases
    } catch (error) {
      await databases.close()
      throw error
    }
  }

  async #sweep(): Promise<void> {
    const { rows } = await this.#admin.query(
      'select datname from pg_database where starts_with(datname, $1)',
      [mark],
    )
    for (const { datname } of rows) await this.#drop(datname)
  }

  get #template(): string {
    return `${this.#prefix}_template`
  }

  async #makeTemplate(prepare: (url: string, pool: OwnPool) => Promise<void>): Promise<void> {
    await this.#create(this.#template, '')
    const url = this.#urlOf(this.#template)
    const pool = createPool(url, { max: 1 })
    try {
      await migrate(pool)
      await createQueue(pool, scratchQueue)
      await prepare(url, pool)
    } finally {
      await pool.end()
    }
  }

  /**
   * One copy at a time: PostgreSQL refuses to copy a template that another session copies. The next one is
   * made ahead.
   */
  copy(): Promise<ScratchDatabase> {
    const made = this.#next ?? this.#copyInTurn()
    this.#next = this.#copyInTurn()
    return made
  }

  #copyInTurn(): Promise<ScratchDatabase> {
    const made = this.#copying.then(() => this.#copy())
    this.#copying = made.catch(() => {})
    return made
  }

  async #copy(): Promise<ScratchDatabase> {
    const name = `${this.#prefix}_${++this.#copies}`
    await this.#create(name, ` template ${this.#template}`)
    const url = this.#urlOf(name)
    const pool = createPool(`${url}?application_name=onceward%20verify`, { max: 2 })
    await adoptCopy(pool)
    // Not awaited, and one at a time: the server writes everything it has to disk for each drop.
    const drop = async () => {
      await pool.end()
      this.#dropping = this.#dropping.then(() => this.#drop(name)).catch(() => {})
    }
    return { url, name, pool, drop }
  }

  async #create(name: string, from: string): Promise<void> {
    try {
      await this.#admin.query(`create database ${name}${from}`)
      this.#standing.add(name)
    } catch (cause) {
      throw new OncewardError(
        'configuration',
        `The scratch database ${name} cannot be created: ${errorText(cause)}. Nothing was verified, and no other database was changed.`,
        { cause },
      )
    }
  }

  async #drop(name: string): Promise<void> {
    this.#standing.delete(name)
    await this.#admin.query(`drop database if exists ${name} with (force)`)
  }

  #urlOf(name: string): string {
    const url = new URL(this.#server.url)
    url.pathname = `/${name}`
    return url.href
  }

  /** False: the server was given, so only sessions of the run's own database are ended. */
  get restartsServer(): boolean {
    return this.#server.restart !== null
  }

  /** Restarts the server: no other run may be in progress. A given one only ends the sessions of a run. */
  async restart(name: string): Promise<void> {
    const { restart } = this.#server
    if (restart === null) return this.#endSessions(name)
    await this.#copying
    await this.#dropping
    await restart()
  }

  async #endSessions(name: string): Promise<void> {
    await this.#admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = $1 and application_name <> 'onceward verify'`,
      [name],
    )
  }

  async close(): Promise<void> {
    await this.#next?.then(({ pool }) => pool.end()).catch(() => {})
    await this.#dropping
    for (const name of [...this.#standing]) await this.#drop(name).catch(() => {})
    await this.#admin.end()
  }
}

async function refuseNamed(admin: OwnPool): Promise<void> {
  const named = process.env.ONCEWARD_ENVIRONMENT ?? (await recordedEnvironment(admin))
  if (named === null || named === undefined) return
  throw new OncewardError(
    'wrong_environment',
    `This server belongs to the environment "${named}": verify creates and drops databases, kills processes and ends connections. Nothing was created. Use a server for tests, or none for an embedded one.`,
  )
}
