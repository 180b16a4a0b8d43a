import type { SqlTransaction } from '../../contract/handler.ts'
import type { StoreSession } from '../../ports/store-session.ts'

/** For the campaign's statements in the batch's transaction. */
export function sqlOf<Tx>(session: StoreSession<Tx>): SqlTransaction {
  return session.handlerTransaction(true).sql!
}
