import { errorCode, OncewardError } from '../errors.ts'
import { diagnose } from '../stores/postgres/diagnose.ts'

/** What Node and OpenSSL call certificates that do not fit; the client has no code for a server without TLS. */
const tlsCodes =
  /^(ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA)/
const tlsTexts = /server does not support SSL|error response.*SSL/i

/** Resource and system errors of a server that does answer. */
const broken = /^(25|58|XX)...$/

/**
 * What the database's client says of a server that is away or refuses the connection names neither the server nor the setting; of a name with
 * two addresses it says nothing at all. A server that is away is `database_unreachable` and may come back; a login, a database or a certificate
 * that is refused is `configuration`. Everything else is returned as it is.
 */
export function databaseTrouble(error: unknown, url: string | undefined): unknown {
  if (error instanceof OncewardError || !(error instanceof Error)) return error
  const code = errorCode(error)
  if (/^(28|3D)...$/.test(code) || tlsCodes.test(code) || tlsTexts.test(error.message))
    return new OncewardError(
      'configuration',
      `The database at ${placeOf(url)} refused the connection: ${error.message} (${code}). Nothing was started or changed. Check ONCEWARD_DATABASE_URL.`,
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
