import { OncewardError } from '../../../errors.ts'
import { inTransaction } from '../in-transaction.ts'
import type { SqlPool, SqlResult } from '../pool.ts'

/** Shorter than the client's time-out, so that the server reports the reason. */
const timeoutSeconds = 55

/**
 * Runs one statement in a read-only transaction, so a contract's query cannot write. Each statement sees one
 * snapshot, in which markers and their effects agree. A short transaction does not hold back vacuum for the
 * whole comparison.
 */
export async function readOnly(
  pool: SqlPool,
  place: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<SqlResult> {
  try {
    return await inTransaction(pool, async client => {
      await client.query(
        `set transaction read only; set local statement_timeout = '${timeoutSeconds}s'; set local work_mem = '64MB'`,
      )
      return client.query(text, values)
    })
  } catch (cause) {
    const { code, message } = cause as Error & { code?: string }
    if (code === '57014')
      throw refused(
        `${place} took longer than ${timeoutSeconds} s for one range of ids; add an index on its message id`,
        cause,
      )
    if (code === '25006') throw refused(`${place} tried to write: ${message}`, cause)
    if (/^(42|22)/.test(code ?? '')) throw refused(`${place} cannot be run: ${message}`, cause)
    throw cause
  }
}

function refused(why: string, cause: unknown): OncewardError {
  return new OncewardError('usage', `${why}. Nothing was changed.`, { cause })
}
