import { OncewardError } from '../../errors.ts'
import { everyUrl, firstUrl } from '../../ports/broker-url.ts'
import type { LiveAccess } from './access.ts'

const serverTimeoutMs = 15_000

/**
 * A server that accepts connections and then says nothing is a finding, not a reason to hang. `giveUp` is
 * called when it is too late.
 */
export async function within<T>(
  { env, timeoutMs = serverTimeoutMs }: Pick<LiveAccess, 'env' | 'timeoutMs'>,
  work: Promise<T>,
  giveUp: () => void = () => {},
): Promise<T> {
  const late = Promise.withResolvers<never>()
  const cancel = env.timers.after(timeoutMs, () => {
    late.reject(
      new OncewardError(
        'broker_unreachable',
        `It did not answer within ${timeoutMs / 1_000} s. Nothing was changed.`,
      ),
    )
    giveUp()
  })
  work.catch(() => {})
  return Promise.race([work, late.promise]).finally(cancel)
}

/** The server's address without credentials. */
export function placeOf(url: string): string {
  const address = firstUrl(url)
  if (address === null) return 'an address that cannot be read'
  const hosts = everyUrl(url).map(one => new URL(one).host)
  return `${address.protocol}//${hosts.join(',')}${address.pathname}`
}
