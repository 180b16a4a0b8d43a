import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { errorCode, errorText, OncewardError } from '../../errors.ts'

/**
 * The authorities to trust and the client's certificate. Each of `ca`, `cert` and `key` is PEM, or the path
 * of a file that contains it.
 */
export interface BrokerTls {
  /** The authorities to trust instead of Node's. */
  readonly ca?: string | Buffer
  /** The client certificate and key, for servers that require one. */
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
  /** Passphrase of the key. */
  readonly passphrase?: string
  /** The name in the server's certificate, when it differs from the host in the address. */
  readonly servername?: string
}

/** PEM contents in place of paths, as `tls.connect` expects them. */
export interface TlsMaterial {
  readonly ca?: string | Buffer
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
  readonly passphrase?: string
  readonly servername?: string
}

/**
 * Reads the files again for every connection, so renewed certificates take effect. Throws a `configuration`
 * error that repeats no content.
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
