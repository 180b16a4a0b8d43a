import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * An authority that nobody else trusts, a broker's certificate for 127.0.0.1 and `kafka.test`, and a
 * client's.
 */
export interface Certificates {
  readonly ca: string
  readonly caFile: string
  readonly client: { readonly cert: string; readonly key: string }
  readonly server: { readonly cert: string; readonly key: string }
  /** For the same names, over since yesterday. */
  readonly expired: { readonly cert: string; readonly key: string }
  /** Files a broker reads: its key with its certificate, and whom it trusts. */
  readonly keystoreFile: string
  readonly truststoreFile: string
}

export function makeCertificates(folder: string): Certificates {
  const file = (name: string) => join(folder, name)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  const key = ['-newkey', 'rsa:2048', '-nodes']
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=test')
  const issue = (name: string, extension: string, days = '2') => {
    writeFileSync(file(`${name}.ext`), extension)
    openssl('req', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`)
    const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', days]
    openssl('x509', '-req', '-in', `${name}.csr`, ...by, '-out', `${name}.pem`, '-extfile', `${name}.ext`)
    return { cert: readFileSync(file(`${name}.pem`), 'utf8'), key: readFileSync(file(`${name}.key`), 'utf8') }
  }
  const names = 'subjectAltName=IP:127.0.0.1,DNS:kafka.test'
  const server = issue('server', names)
  const expired = issue('expired', names, '-1')
  const client = issue('client', 'extendedKeyUsage=clientAuth')
  writeFileSync(file('keystore.pem'), server.key + server.cert)
  return {
    ca: readFileSync(file('ca.pem'), 'utf8'),
    caFile: file('ca.pem'),
    client,
    server,
    expired,
    keystoreFile: file('keystore.pem'),
    truststoreFile: file('ca.pem'),
  }
}
