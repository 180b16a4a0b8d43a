import type { TransactionName } from './end-statements.ts'
import type { SqlClient } from './pool.ts'
import { within } from './within.ts'

const againMs = 200

const cancelling = `
  select pg_catalog.pg_cancel_backend(pid) from pg_catalog.pg_stat_activity
  where pid = $1 and (extract(epoch from xact_start) * 1000000)::bigint = $2::bigint`

/**
 * Asks the server, from another session, to cancel what a transaction runs, until the work has ended: a
 * statement may be on its way to the server when the first request arrives there.
 */
export async function cancelStatements(
  work: Promise<unknown>,
  { pid, began }: TransactionName,
  other: SqlClient,
): Promise<void> {
  let ended = false
  const end = () => {
    ended = true
  }
  const done = work.then(end, end)
  while (!ended) {
    await within(Promise.race([done, other.query(cancelling, [pid, began])]), againMs)
    await within(done, againMs)
  }
}
