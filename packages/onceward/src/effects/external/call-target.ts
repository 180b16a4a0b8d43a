import type { QueryAnswer } from '../../contract/external-target.ts'
import type { Environment, Log } from '../../environment.ts'
import { errorText } from '../../errors.ts'
import type { Answer } from './answer.ts'
import { orAborted } from './targets/custom-target.ts'
import type { ExternalCaller, Outbound } from './targets/target.ts'

type CallEnvironment = Pick<Environment, 'timers' | 'clock'> & { readonly log: Log }

/** Makes one call under one deadline. The call also ends when the process leaves. */
export function callTarget(
  target: ExternalCaller,
  effect: Outbound,
  env: CallEnvironment,
  leaving: AbortSignal,
): Promise<Answer> {
  const endMs = env.clock.nowMs() + target.timeoutMs
  const expired = () => env.clock.nowMs() >= endMs
  return withDeadline(target, env, leaving, signal => target.send(effect, { signal, expired, log: env.log }))
}

/** Asks the target whether the effect happened. An error or a missing answer leaves it unknown. */
export function queryTarget(
  target: ExternalCaller,
  { key, body, contentType, attempts }: Outbound,
  env: CallEnvironment,
  leaving: AbortSignal,
): Promise<{ readonly answer: QueryAnswer; readonly note: string | null }> {
  return withDeadline(target, env, leaving, async signal => {
    try {
      const request = { key, body, contentType, attempt: attempts }
      const context = { target: target.name, signal, log: env.log }
      const answer = await orAborted(target.query!(request, context), signal)
      if (answer === 'completed' || answer === 'not done') return { answer, note: null }
      return { answer: 'unknown', note: 'the query could not determine whether it happened' }
    } catch (error) {
      return { answer: 'unknown', note: `the query failed: ${errorText(error, 400)}` }
    }
  })
}

async function withDeadline<T>(
  { timeoutMs }: ExternalCaller,
  { timers }: CallEnvironment,
  leaving: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController()
  const leave = () => abort.abort(leaving.reason)
  leaving.addEventListener('abort', leave, { once: true })
  const cancel = timers.after(timeoutMs, () => {
    abort.abort(new Error(`no complete answer within ${timeoutMs} ms`))
  })
  try {
    return await work(abort.signal)
  } finally {
    cancel()
    leaving.removeEventListener('abort', leave)
  }
}
