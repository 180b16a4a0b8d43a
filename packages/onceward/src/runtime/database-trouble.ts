import { errorCode, OncewardError } from '../errors.ts'
import { diagnose } from '../stores/postgres/diagnose.ts'
import { tlsRefusal } from '../tls/tls-refusal.ts'

/**
 * What the database's client says of a server that is away or refuses us names neither the server nor the setting; of a name with two
 * addresses it says nothing at all. Everything else is returned as it is.
 */
export function databaseTrouble(error: unknown, url: string | undefined): unknown {
  if (error instanceof OncewardError || !(error instanceof Error)) return error
  const code = errorCode(error)
  const tls = /does not support SSL/.test(error.message) ? 'it does not speak TLS' : tlsRefusal(error)
  const isRefused = /^(28|3D)...$/.test(code)
  if (!isRefused && tls === null && diagnose(error) !== 'unavailable') return error
  const refused = tls === null ? `refuses us: ${error.message} (${code})` : `cannot be used over TLS: ${tls}`
  const words = isRefused || tls !== null ? refused : `does not answer (${code})`
  return new OncewardError(
    'configuration',
    `The database at ${placeOf(url)} ${words}. Check ONCEWARD_DATABASE_URL, and that the server runs; then do it again.`,
    { cause: error },
  )
}

/** Without the login. */
function placeOf(url: string | undefined): string {
  const address = url === undefined ? null : URL.parse(url)
  return address === null ? 'an unknown address' : `${address.host}${address.pathname}`
}
