import type { HandlerTransaction } from './handler-transaction.ts'
import { lateUse } from './late-use.ts'

/**
 * The handle of a store whose client is synchronous, so that no statement is ever pending. `makeTx` creates
 * the handler's `tx`, which runs each statement through `send`.
 */
export function synchronousHandle<Tx>(
  makeTx: (send: <T>(statement: () => T) => T) => Tx,
): HandlerTransaction<Tx> {
  let used = false
  let failure: unknown
  let closed: Error | null = null
  const send = <T>(statement: () => T): T => {
    if (closed !== null) throw closed
    used = true
    try {
      return statement()
    } catch (error) {
      failure ??= error
      throw error
    }
  }
  return {
    tx: makeTx(send),
    get used() {
      return used
    },
    get failure() {
      return failure
    },
    pending: 0,
    idle: async () => {},
    revoke(cut) {
      closed ??= lateUse(cut, 'nothing was changed')
    },
  }
}
