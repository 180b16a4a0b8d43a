import { diagnose } from '../drivers/postgres/diagnose.ts'
import { tlsRefusal } from '../drivers/tls/tls-refusal.ts'
import { errorCode, OncewardError } from '../errors.ts'

/** The client has no code for a server without TLS. */
const tlsTexts = /server does not support SSL|error response.*SSL/i

/** Resource and system errors of a server that answers. */
const broken = /^(25|58|XX)...$/

/**
 * Errors of the database client name neither the server nor the setting; for a host with two addresses they
 * are empty. An unavailable server is `database_unreachable` and is retried; a refused login, database or
 * certificate is `configuration`. Every other error is returned unchanged.
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
    `The database at ${placeOf(url)} does not answer (${code}). Check ONCEWARD_DATABASE_URL, and that the server runs; then retry.`,
    { cause: error },
  )
}

/** Without the login. */
function placeOf(url: string | undefined): string {
  const address = url === undefined ? null : URL.parse(url)
  return address === null ? 'an unknown address' : `${address.host}${address.pathname}`
}
