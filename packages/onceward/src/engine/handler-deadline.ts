import { OncewardError } from '../errors.ts'
import type { Received } from '../message/received.ts'
import type { Spine } from './process-batch.ts'
import { laneCutMs } from './run-each.ts'

/** The time the handlers of one round have, together. */
export interface Deadline {
  readonly signal: AbortSignal
  /** Rejects when the handlers have run too long, a claim of theirs is lost, or the process must leave. */
  readonly passed: Promise<never>
  cancel(): void
}

export function handlerDeadline<M, Tx>(due: readonly Received<M>[], spine: Spine<M, Tx>): Deadline {
  const { handlerTimeoutMs } = spine.consumer.batch
  const inTurn = spine.consumer.order === 'key' || !spine.store.capabilities.concurrent || spine.care.needed
  const lastStartMs = inTurn ? laneCutMs : 0
  const controller = new AbortController()
  const { promise, reject } = Promise.withResolvers<never>()
  promise.catch(() => {})
  const end = (error: Error) => {
    controller.abort(error)
    reject(error)
  }
  const cancelTimer = spine.world.timers.after(handlerTimeoutMs + lastStartMs, () =>
    end(
      new OncewardError(
        'handler_timeout',
        `The handler did not return within ${handlerTimeoutMs} ms. Its transaction was rolled back; nothing was settled.`,
      ),
    ),
  )
  const onStop = () => end(new OncewardError('consumer_halted', 'The consumer was told to leave at once.'))
  if (spine.signal.aborted) onStop()
  else spine.signal.addEventListener('abort', onStop, { once: true })
  const unwatch = spine.watchClaims?.(due, end)
  return {
    signal: controller.signal,
    passed: promise,
    cancel() {
      cancelTimer()
      unwatch?.()
      spine.signal.removeEventListener('abort', onStop)
    },
  }
}
