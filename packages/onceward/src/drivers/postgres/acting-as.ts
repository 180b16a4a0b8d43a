import { inTransaction } from './in-transaction.ts'
import type { PooledClient, SqlPool } from './pool.ts'

/**
 * The pool of a console, used for one of its users. Every transaction names the user in `onceward.acting_as`
 * and forgets it at its end, so a pooled connection never carries a name to the next user. The database
 * ignores the name unless the login is a console.
 */
export function actingAs(pool: SqlPool, person: string): SqlPool {
  return {
    connect: async () => named(await pool.connect(), person),
    query: (text, values) => pool.query(text, values),
    end: () => pool.end(),
  }
}

function named(client: PooledClient, person: string): PooledClient {
  const query = async (text: string, values?: readonly unknown[]) => {
    const answer = await client.query(text, values)
    if (/^begin\b/i.test(text))
      await client.query(`select set_config('onceward.acting_as', $1, true)`, [person])
    return answer
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
