import { AsyncLocalStorage } from 'node:async_hooks'
import type { DeclaredEffect } from '../../contract/declared-effect.ts'
import type { Consumer } from '../../contract/define-consumer.ts'
import type { BatchContext, HandlerContext, SqlTransaction } from '../../contract/handler.ts'

/** One call of the handler. What it does asynchronously belongs to it too, also after it returned. */
export interface WatchedCall {
  /** Counted from 1 in this process. */
  readonly number: number
  returned: boolean
  /** It has sent no statement and requested no effect so far. */
  isIdle: boolean
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
type Context = HandlerContext<unknown, SqlTransaction>

/** A call ended without a statement, a requested effect or a verdict; its message counts as applied. */
export type OnIdle = (messageId: string) => void

/** The handlers of a consumer, with each call recognisable. */
export function watchedHandlers({ handle, handleBatch }: Handlers, onIdle: OnIdle): Partial<Handlers> {
  return {
    ...(handle && { handle: (context: Context) => runCounted(handle, context, onIdle) }),
    ...(handleBatch && {
      handleBatch: (context: BatchContext<unknown, SqlTransaction>) => run(handleBatch, context),
    }),
  }
}

/** The same for the `after` of a declared effect. */
export function watchedEffect<M>(effect: DeclaredEffect<M>): DeclaredEffect<M> {
  const { after } = effect
  return after === undefined ? effect : { ...effect, after: context => run(after, context) }
}

/** A statement on `tx` was answered. */
export function noteStatement(): void {
  const call = currentCall()
  if (call !== undefined) call.isIdle = false
}

async function runCounted<R>(
  handler: (context: Context) => R,
  context: Context,
  onIdle: OnIdle,
): Promise<Awaited<R>> {
  const { effects } = context
  const call = newCall()
  for (const name of ['external', 'publish', 'call', 'evidence'] as const) {
    const real = effects[name] as (...given: unknown[]) => unknown
    Object.assign(effects, {
      [name](...given: unknown[]) {
        call.isIdle = false
        return real.apply(effects, given)
      },
    })
  }
  const result = await run(handler, context, call)
  if (call.isIdle && result === undefined) onIdle(context.envelope.id)
  return result
}

const newCall = (): WatchedCall => ({ number: ++count, returned: false, isIdle: true })

async function run<C, R>(handler: (context: C) => R, context: C, call = newCall()): Promise<Awaited<R>> {
  try {
    return await calls.run(call, () => handler(context))
  } finally {
    call.returned = true
  }
}
