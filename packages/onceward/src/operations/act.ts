import type { Reach } from '../crash-points.ts'
import { assertUsable } from '../drivers/postgres/assert-usable.ts'
import { inTransaction } from '../drivers/postgres/in-transaction.ts'
import type { SqlClient, SqlPool } from '../drivers/postgres/pool.ts'
import { OncewardError } from '../errors.ts'

/** Arguments of an act. The actor is not among them: it is the login of the database session. */
export interface ActArguments {
  /** Consumer name, as confirmation: a mistyped id cannot change another consumer's messages. */
  readonly consumer: string
  readonly because: string
}

export interface ActOptions {
  readonly reach?: Reach | undefined
}

/**
 * Calls the function of an act in a transaction. A function that refuses returns instead of raising, so that
 * the audit keeps the refusal. Here it becomes an error.
 */
export async function act<T>(
  pool: SqlPool,
  call: string,
  values: readonly unknown[],
  beforeCommit: (client: SqlClient) => void | Promise<void> = () => {},
  see = 'onceward parked list',
): Promise<T> {
  await assertUsable(pool)
  const answer = await retryOnContention(() =>
    inTransaction(pool, async client => {
      const answered = await callAct(client, call, values)
      if (answered.ok) await beforeCommit(client)
      return answered
    }),
  )
  if (!answer.ok) throw refused(answer.why, see)
  return answer as T
}

/** What the function of an act returns, with members of its own if it succeeds. */
export type ActAnswer = { readonly ok: true } | { readonly ok: false; readonly why: string }

/** The call itself, for an act in a transaction that does more. */
export async function callAct(
  client: SqlClient,
  call: string,
  values: readonly unknown[],
): Promise<ActAnswer> {
  const { rows } = await client.query(`select ${call} as answer`, values)
  return rows[0].answer
}

const triesMax = 5
/**
 * Serialization failure, deadlock, lock timeout: a batch of a consumer interfered, and nothing was changed.
 */
const contentionCodes = ['40001', '40P01', '55P03']

async function retryOnContention<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries === triesMax || !contentionCodes.includes((error as { code?: string }).code ?? ''))
        throw error
    }
  }
}

export function refused(why: string, see = 'onceward parked list'): OncewardError {
  return new OncewardError('usage', `${why} Nothing was changed; see "${see}".`)
}
