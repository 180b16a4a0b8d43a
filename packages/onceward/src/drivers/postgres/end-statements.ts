import type { SqlClient } from './pool.ts'
import { within } from './within.ts'

/**
 * How long statements of ended handlers may run before the server is asked to cancel them, and then to end
 * their session.
 */
const graceMs = 2_000

/**
 * Columns that identify a transaction to other sessions: a process id alone may be reused by another session.
 */
export const transactionName = `pg_backend_pid() as pid, (extract(epoch from now()) * 1000000)::bigint::text as began`

export interface TransactionName {
  readonly pid: number
  readonly began: string
}

/** No row: the session has ended with all its statements. */
const ending = (call: string) => `
  select case when (extract(epoch from xact_start) * 1000000)::bigint = $2::bigint then pg_catalog.${call}(pid) end
  from pg_catalog.pg_stat_activity where pid = $1`

/**
 * Waits until the statements of a transaction are answered, so that COMMIT or ROLLBACK is the last one. A
 * statement that keeps running is cancelled from another session; if that does not help, the session is
 * ended. Without a free connection the limits of the server apply.
 */
export async function endStatements(
  idle: Promise<unknown>,
  { pid, began }: TransactionName,
  other: SqlClient,
  limitMs: number,
): Promise<void> {
  for (const call of ['pg_cancel_backend', 'pg_terminate_backend']) {
    if (await within(idle, graceMs)) return
    let gone = false
    const asked = other.query(ending(call), [pid, began]).then(({ rows }) => {
      gone = rows.length === 0
    })
    await within(Promise.race([idle, asked]), graceMs)
    if (gone) return
  }
  await within(idle, limitMs)
}
