import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { errorCode, errorText, OncewardError } from '../../errors.ts'

/**
 * Whom to trust, and who we are. Each of `ca`, `cert` and `key` is PEM, or the path of a file that holds it.
 */
export interface BrokerTls {
  /** The authorities to trust instead of Node's. */
  readonly ca?: string | Buffer
  /** Our own certificate and key, where servers ask for one. */
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
  /** Of the key. */
  readonly passphrase?: string
  /** The name in the server's certificate, where it is not the host we connect to. */
  readonly servername?: string
}

/** PEM in place of paths, as `tls.connect` takes it. */
export interface TlsMaterial {
  readonly ca?: string | Buffer
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
  readonly passphrase?: string
  readonly servername?: string
}

/**
 * Reads the files, anew for every connection so that renewed ones are used. Throws a `configuration` error
 * that repeats no content.
 */
export function readTls(tls: BrokerTls, who: string): TlsMaterial {
  const material: Record<string, string | Buffer> = {}
  for (const name of ['ca', 'cert', 'key'] as const)
    if (tls[name] !== undefined) material[name] = readPem(tls[name], name, who)
  if (tls.passphrase !== undefined) material.passphrase = tls.passphrase
  try {
    createSecureContext(material)
  } catch (error) {
    throw unusable(
      who,
      `the certificate, the key or its passphrase cannot be used (${errorText(error, 200)})`,
      error,
    )
  }
  if (tls.servername !== undefined) material.servername = tls.servername
  return material
}

function readPem(given: string | Buffer, name: string, who: string): string | Buffer {
  if (typeof given !== 'string' || given.includes('-----BEGIN')) return given
  try {
    return readFileSync(given)
  } catch (error) {
    throw unusable(who, `the file for ${name} cannot be read (${errorCode(error)})`, error)
  }
}

function unusable(who: string, why: string, cause: unknown): OncewardError {
  return new OncewardError(
    'configuration',
    `${who}: ${why}. Nothing was opened and nothing is lost. Check the paths and contents of the TLS files.`,
    { cause },
  )
}
