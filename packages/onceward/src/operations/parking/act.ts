import type { Reach } from '../../crash-points.ts'
import { inTransaction } from '../../drivers/postgres/in-transaction.ts'
import { assertUsable } from '../../drivers/postgres/migrate.ts'
import type { SqlClient, SqlPool } from '../../drivers/postgres/pool.ts'
import { OncewardError } from '../../errors.ts'

/** What a person says with an act. The name is not theirs to say: it is the login of the database session. */
export interface Said {
  /** Typed again, so that no slip touches another consumer's messages. */
  readonly consumer: string
  readonly because: string
}

export interface ActOptions {
  readonly reach?: Reach | undefined
}

/**
 * Calls one of the database's functions in a transaction. They answer rather than raise when they refuse, so
 * that the refusal stands in the audit; here it becomes an error.
 */
export async function act<T>(
  pool: SqlPool,
  call: string,
  values: readonly unknown[],
  beforeCommit: (client: SqlClient) => void | Promise<void> = () => {},
  see = 'onceward parked list',
): Promise<T> {
  await assertUsable(pool)
  const answer = await patiently(() =>
    inTransaction(pool, async client => {
      const { rows } = await client.query(`select ${call} as answer`, values)
      const answered = rows[0].answer as { readonly ok: boolean; readonly why?: string }
      if (answered.ok) await beforeCommit(client)
      return answered
    }),
  )
  if (!answer.ok) throw refused(answer.why!, see)
  return answer as T
}

const triesMax = 5
/**
 * Serialization failure, deadlock, a lock not had in time: a batch of a consumer was in the way, and nothing
 * was changed.
 */
const passing = ['40001', '40P01', '55P03']

async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries === triesMax || !passing.includes((error as { code?: string }).code ?? '')) throw error
    }
  }
}

export function refused(why: string, see = 'onceward parked list'): OncewardError {
  return new OncewardError('usage', `${why} Nothing was changed; see "${see}".`)
}
