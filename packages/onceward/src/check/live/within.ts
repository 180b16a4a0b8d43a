import { OncewardError } from '../../errors.ts'
import type { Timers } from '../../surroundings.ts'

/** Longest wait for one server, whatever its client thinks. */
export const serverTimeoutMs = 15_000

/** A server that accepts connections and then says nothing is a finding, not a reason to hang. `giveUp` is called when it is too late. */
export async function within<T>(timers: Timers, work: Promise<T>, giveUp: () => void = () => {}): Promise<T> {
  const late = Promise.withResolvers<never>()
  const cancel = timers.after(serverTimeoutMs, () => {
    late.reject(
      new OncewardError(
        'broker_unreachable',
        `It did not answer within ${serverTimeoutMs / 1_000} s. Nothing was changed.`,
      ),
    )
    giveUp()
  })
  work.catch(() => {})
  return Promise.race([work, late.promise]).finally(cancel)
}

/** For people: where a server is, without who we are to it. */
export function placeOf(url: string): string {
  const address = URL.parse(url)
  return address === null
    ? 'an address that cannot be read'
    : `${address.protocol}//${address.host}${address.pathname}`
}
