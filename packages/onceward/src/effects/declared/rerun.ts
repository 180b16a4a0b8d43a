import type { SqlTransaction } from '../../contract/handler.ts'

/**
 * Ends the attempt with a serialization failure: another transaction committed between the read and the
 * write. The server raises it, so the engine sees contention, runs the same batch again and counts no
 * attempt.
 */
export async function rerunBatch(tx: SqlTransaction, what: string): Promise<never> {
  await tx.query(
    `do $$ begin raise exception '${what.replaceAll(/[^a-z ]/gi, '')}' using errcode = 'serialization_failure'; end $$`,
  )
  throw new Error(what)
}
