import { diagnose } from '../drivers/postgres/diagnose.ts'
import { tlsRefusal } from '../drivers/tls/tls-refusal.ts'
import { errorCode, OncewardError } from '../errors.ts'

/** The client has no code for a server without TLS. */
const tlsTexts = /server does not support SSL|error response.*SSL/i

/** Resource and system errors of a server that does answer. */
const broken = /^(25|58|XX)...$/

/**
 * What the database's client says of a server that is away or refuses the connection names neither the server
 * nor the setting; of a name with two addresses it says nothing at all. A server that is away is
 * `database_unreachable` and may come back; a login, a database or a certificate that is refused is
 * `configuration`. Everything else is returned as it is.
 */
export function databaseTrouble(error: unknown, url: string | undefined): unknown {
  if (error instanceof OncewardError || !(error instanceof Error)) return error
  const code = errorCode(error)
  const tls = tlsTexts.test(error.message) ? 'it does not speak TLS' : tlsRefusal(error)
  if (/^(28|3D)...$/.test(code) || tls !== null)
    return new OncewardError(
      'configuration',
      `The database at ${placeOf(url)} ${tls === null ? `refused the connection: ${error.message} (${code})` : `cannot be used over TLS: ${tls}`}. Nothing was started or changed. Check ONCEWARD_DATABASE_URL.`,
      { cause: error },
    )
  if (diagnose(error) !== 'unavailable' || broken.test(code)) return error
  return new OncewardError(
    'database_unreachable',
    `The database at ${placeOf(url)} does not answer (${code}). Check ONCEWARD_DATABASE_URL, and that the server runs; then do it again.`,
    { cause: error },
  )
}

/** Without the login. */
function placeOf(url: string | undefined): string {
  const address = url === undefined ? null : URL.parse(url)
  return address === null ? 'an unknown address' : `${address.host}${address.pathname}`
}
