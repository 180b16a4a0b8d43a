import { randomBytes } from 'node:crypto'
import { createPool } from 'onceward/postgres'
import { approveRequest } from '../../src/operations/parking/delete-parked.ts'

type Pool = ReturnType<typeof createPool>

/** Logins of their own on the test server, gone at the end. */
export class People {
  readonly #admin: Pool
  readonly #url: string
  readonly #pools: Pool[] = []
  readonly #names: string[] = []

  constructor(admin: Pool, url: string) {
    this.#admin = admin
    this.#url = url
  }

  /** A login in these group roles; `person` where the database is told that it is one human being. */
  async login(
    groups: readonly string[],
    { person }: { readonly person: boolean },
  ): Promise<{ name: string; url: string; pool: Pool }> {
    const name = `test_${randomBytes(5).toString('hex')}`
    const password = randomBytes(12).toString('hex')
    await this.#admin.query(`create role ${name} login password '${password}' in role ${groups.join(', ')}`)
    this.#names.push(name)
    if (person) await this.#admin.query('insert into onceward.person (role_name) values ($1)', [name])
    const url = new URL(this.#url)
    url.username = name
    url.password = password
    const pool = createPool(url.href, { max: 3 })
    this.#pools.push(pool)
    return { name, url: url.href, pool }
  }

  /** Another person, listed as one, approves a fix. */
  async approve({ id, digest }: { readonly id: string; readonly digest: string }): Promise<void> {
    const { pool } = await this.login(['onceward_approver'], { person: true })
    await approveRequest(pool, id, digest, 'looked at it')
  }

  async close(): Promise<void> {
    await Promise.all(this.#pools.map(pool => pool.end()))
    for (const name of this.#names) await this.#admin.query(`drop owned by ${name}; drop role ${name}`)
  }
}

/** What a statement is refused with; fails when it is not. */
export async function refusal(pool: Pool, text: string, values: readonly unknown[] = []): Promise<string> {
  try {
    await pool.query(text, values as unknown[])
  } catch (error) {
    return `${(error as { code?: string }).code} ${(error as Error).message}`
  }
  throw new Error(`was not refused: ${text}`)
}
