import { randomBytes } from 'node:crypto'
import pg from 'pg'

/**
 * Databases that test files leave behind, being killed or not waiting. Dropped beside the next files, one
 * after the other.
 */
export class TestDatabases {
  readonly #url: string | undefined
  readonly #run = `test_${randomBytes(3).toString('hex')}_`
  #files = 0
  #dropping: Promise<void> = Promise.resolve()

  constructor(url: string | undefined) {
    this.#url = url
  }

  /** What the names of a file's databases begin with. */
  nextFile(): string {
    this.#files++
    return `${this.#run}${this.#files}_`
  }

  ended(prefix: string): void {
    this.#dropping = this.#dropping.then(() => this.#drop(prefix))
  }

  async allEnded(): Promise<void> {
    await this.#dropping
    await this.#drop(this.#run)
  }

  /** Some tests kill the server: what could not be dropped now is dropped at the end. */
  async #drop(prefix: string): Promise<void> {
    if (this.#url === undefined) return
    const client = new pg.Client(this.#url)
    client.on('error', () => {})
    try {
      await client.connect()
      const { rows } = await client.query('select datname from pg_database where starts_with(datname, $1)', [
        prefix,
      ])
      for (const { datname } of rows) await client.query(`drop database if exists ${datname} with (force)`)
    } catch {
    } finally {
      await client.end().catch(() => {})
    }
  }
}
