import { OncewardError } from '../../errors.ts'
import type { Received } from '../../message/received.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import { laneCutMs } from './run-each.ts'

/** The time limit shared by the handlers of one round. */
export interface Deadline {
  readonly signal: AbortSignal
  /**
   * The end of a call. Rejects when the time has elapsed, a lease of these messages is lost, or the process
   * must stop.
   */
  within<T>(call: Promise<T> | T): Promise<T>
  /** The reason why the call was aborted, if this error is that reason. */
  cutBy(error: unknown): Error | undefined
  cancel(): void
}

/** A timer later than this means that the process was paused, or that its event loop was blocked. */
const stillMs = 1_000

function tooLong(handlerTimeoutMs: number, lateMs: number): OncewardError {
  const still =
    lateMs < stillMs
      ? ''
      : ` The process was paused or its event loop was blocked for at least ${Math.round(lateMs / 1_000)} s: another process may have its lease or partition now.`
  return new OncewardError(
    'handler_timeout',
    `The handler did not return within ${handlerTimeoutMs} ms.${still} Its transaction was rolled back; nothing was settled.`,
  )
}

export function handlerDeadline<M, Tx>(
  due: readonly Received<M>[],
  context: ConsumerContext<M, Tx>,
): Deadline {
  const { handlerTimeoutMs } = context.consumer.batch
  const inTurn =
    context.consumer.order === 'key' || !context.store.capabilities.concurrent || context.savepoints.needed
  const lastStartMs = inTurn ? laneCutMs : 0
  const controller = new AbortController()
  // Of every call of the round. For a call that has ended, its function does nothing: to take it out of a set
  // cost 0.5 us a call.
  const cuts: ((error: Error) => void)[] = []
  const end = (error: Error) => {
    controller.abort(error)
    for (const cut of cuts) cut(error)
    cuts.length = 0
  }
  const { clock, timers } = context.env
  const dueMs = clock.nowMs() + handlerTimeoutMs + lastStartMs
  const cancelTimer = timers.after(handlerTimeoutMs + lastStartMs, () =>
    end(tooLong(handlerTimeoutMs, clock.nowMs() - dueMs)),
  )
  const onStop = () => end(new OncewardError('consumer_halted', 'The consumer was stopped at once.'))
  if (context.signal.aborted) onStop()
  else context.signal.addEventListener('abort', onStop, { once: true })
  const unwatch = watchLeases(due, context, end)
  return {
    signal: controller.signal,
    within: <T>(call: Promise<T> | T) => {
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      cuts.push(reject)
      Promise.resolve(call).then(resolve, reject)
      // A call that has returned already is not cut.
      if (controller.signal.aborted) void Promise.resolve().then(() => reject(controller.signal.reason))
      return promise
    },
    cutBy: error =>
      controller.signal.aborted && error === controller.signal.reason ? (error as Error) : undefined,
    cancel() {
      cancelTimer()
      unwatch?.()
      context.signal.removeEventListener('abort', onStop)
    },
  }
}

/** For stored work: aborts the handlers when another worker takes over one of their messages. */
function watchLeases<M, Tx>(
  due: readonly Received<M>[],
  { stage, subscription }: ConsumerContext<M, Tx>,
  onLost: (error: Error) => void,
): (() => void) | null {
  if (stage !== 'work') return null
  return subscription.leases!.watch(
    due.map(({ delivery }) => delivery),
    onLost,
  )
}
