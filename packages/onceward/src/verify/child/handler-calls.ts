import { AsyncLocalStorage } from 'node:async_hooks'
import type { Consumer } from '../../contract/define-consumer.ts'
import type { BatchContext, HandlerContext, SqlTransaction } from '../../contract/handler.ts'

/** One call of the handler. What it does asynchronously belongs to it too, also after it returned. */
export interface WatchedCall {
  /** Counted from 1 in this process. */
  readonly number: number
  returned: boolean
}

const calls = new AsyncLocalStorage<WatchedCall>()
let count = 0

/** The handler call that the current code belongs to. */
export const currentCall = (): WatchedCall | undefined => calls.getStore()

/** Number of handler calls so far. */
export const callCount = (): number => count

/** Runs code as if no handler had started it. */
export const outsideHandlers = <T>(work: () => T): T => calls.exit(work)

type Handlers = Pick<Consumer<unknown, SqlTransaction>, 'handle' | 'handleBatch'>

/** The handlers of a consumer, with each call recognisable. */
export function watchedHandlers({ handle, handleBatch }: Handlers): Partial<Handlers> {
  return {
    ...(handle && { handle: (context: HandlerContext<unknown, SqlTransaction>) => run(handle, context) }),
    ...(handleBatch && {
      handleBatch: (context: BatchContext<unknown, SqlTransaction>) => run(handleBatch, context),
    }),
  }
}

async function run<C, R>(handler: (context: C) => R, context: C): Promise<Awaited<R>> {
  const call: WatchedCall = { number: ++count, returned: false }
  try {
    return await calls.run(call, () => handler(context))
  } finally {
    call.returned = true
  }
}
