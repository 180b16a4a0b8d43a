import { OncewardError } from '../../errors.ts'
import { inTransaction } from './in-transaction.ts'
import type { PooledClient, SqlPool, SqlResult } from './pool.ts'

/** A key of one act. An act that is sent again under its key happens once, and has the first answer. */
export interface ActKey {
  /** 8 to 100 characters, made once for each confirmation of a person. */
  readonly key: string
  readonly action: string
}

/** The pool of one person. */
export interface ActingPool extends SqlPool {
  /** The act was recorded under its key before: this time nothing was changed. */
  readonly repeated: boolean
  /** The function of an act has answered: a refusal is in the audit. */
  readonly answered: boolean
}

/**
 * The pool of a console, used for one of its users. Every transaction names the user in `onceward.acting_as`
 * and forgets it at its end, so a pooled connection never carries a name to the next user. The database
 * ignores the name unless the login is a console. With a key, the first act is recorded under it.
 */
export function actingAs(pool: SqlPool, person: string, key?: ActKey): ActingPool {
  const act = new PersonalAct(key ?? null)
  return {
    get repeated() {
      return act.repeated
    },
    get answered() {
      return act.answered
    },
    connect: async () => named(await pool.connect(), person, act),
    query: (text, values) => pool.query(text, values),
    end: () => pool.end(),
  }
}

type Answer = { readonly ok: boolean }
type Query = (text: string, values?: readonly unknown[]) => Promise<SqlResult>

const callsAct = /^select onceward\.\w+\(.* as answer$/s

/**
 * The act of one request, under its key if it has one. Key, act and answer are one transaction: after a lost
 * answer the sender repeats the request, and finds all of it or nothing. Later transactions have no key.
 */
class PersonalAct {
  readonly #key: ActKey | null
  #known: Answer | null = null
  #answer: Answer | null = null
  #isDone = false

  constructor(key: ActKey | null) {
    this.#key = key
  }

  get repeated(): boolean {
    return this.#known !== null
  }

  get answered(): boolean {
    return this.#answer !== null || this.#known !== null
  }

  async begin(query: Query): Promise<void> {
    if (this.#key === null || this.#isDone) return
    const { key, action } = this.#key
    const known = (await query('select onceward.begin_act($1, $2) as known', [key, action])).rows[0].known
    if (known === null) return
    if (known.action !== action || known.answer === null)
      throw new OncewardError(
        'usage',
        `The key of this act was used for "${known.action}". Nothing was changed.`,
      )
    this.#known = known.answer
  }

  async run(query: Query, text: string, values?: readonly unknown[]): Promise<SqlResult> {
    if (!callsAct.test(text)) return query(text, values)
    if (this.#known !== null && !this.#isDone) return { rows: [{ answer: this.#known }], rowCount: 1 }
    const result = await query(text, values)
    this.#answer = result.rows[0].answer
    return result
  }

  async beforeCommit(query: Query): Promise<void> {
    if (this.#key === null || this.#isDone || this.#answer === null) return
    await query('select onceward.end_act($1, $2)', [this.#key.key, JSON.stringify(this.#answer)])
  }

  committed(): void {
    this.#isDone = true
  }
}

function named(client: PooledClient, person: string, act: PersonalAct): PooledClient {
  const plain: Query = (text, values) => client.query(text, values)
  const query: Query = async (text, values) => {
    const commits = /^commit\b/i.test(text)
    if (commits) await act.beforeCommit(plain)
    const result = await act.run(plain, text, values)
    if (commits) act.committed()
    if (/^begin\b/i.test(text)) {
      await client.query(`select set_config('onceward.acting_as', $1, true)`, [person])
      await act.begin(plain)
    }
    return result
  }
  return {
    query: query as PooledClient['query'],
    release: destroy => client.release(destroy),
    on: (event, listener) => client.on(event, listener),
    removeListener: (event, listener) => client.removeListener(event, listener),
  }
}

/** The login of a console, as the database sees it. */
export interface ConsoleLogin {
  readonly login: string
  /** The login may name its users. */
  readonly isConsole: boolean
  /** The login belongs to one person. */
  readonly isPerson: boolean
}

/** The login of this session, and whether it is the console's or a person's. */
export async function readConsoleLogin(pool: SqlPool): Promise<ConsoleLogin> {
  const { rows } = await pool.query(
    `select session_user::text as login, onceward.is_console() as "isConsole",
       exists (select from onceward.person where role_name = session_user) as "isPerson"`,
  )
  return rows[0]
}

/** Whether this name, in any spelling that a reader takes for the same, is listed in `onceward.person`. */
export async function isListedPerson(pool: SqlPool, name: string): Promise<boolean> {
  const { rows } = await pool.query(
    `select exists (select from onceward.person
       where onceward.normalized_name(role_name) = onceward.normalized_name($1)
         and onceward.normalized_name($1) <> '') as listed`,
    [name],
  )
  return rows[0].listed
}

/** An act that the console refused before the database could. The pool acts as the person. */
export interface RefusedAct {
  readonly action: string
  readonly consumer: string | null
  readonly subject: string | null
  readonly why: string
}

/** Writes the refusal to the audit. A login that is not a console writes none. */
export async function recordRefusal(
  pool: SqlPool,
  { action, consumer, subject, why }: RefusedAct,
): Promise<void> {
  await inTransaction(pool, client =>
    client.query('select onceward.console_refused($1, $2, $3, $4) where onceward.is_console()', [
      action,
      consumer,
      subject,
      why,
    ]),
  )
}
