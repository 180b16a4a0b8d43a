import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createPool } from 'onceward/postgres'
import { diagnose } from '../../src/drivers/postgres/diagnose.ts'
import type { OncewardError } from '../../src/errors.ts'
import { databaseTrouble } from '../../src/runtime/database-trouble.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/runtime/embedded/index.ts'
import { unprivilegedUser } from '../../src/runtime/embedded/unprivileged-user.ts'
import { type Certificates, makeCertificates } from '../kafka/certificates.ts'

describe('PostgreSQL over TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-pgtls-'))
  const certificates: Certificates = makeCertificates(folder)
  const servers: Record<string, EmbeddedPostgres> = {}
  const owned = (name: string, content: string) => {
    const path = join(folder, name)
    writeFileSync(path, content, { mode: 0o600 })
    const user = unprivilegedUser()
    if (user) chownSync(path, user.uid, user.gid)
    return path
  }

  before(async () => {
    chmodSync(folder, 0o755)
    for (const name of ['server', 'expired'] as const) {
      const { cert, key } = certificates[name]
      servers[name] = await startEmbeddedPostgres({
        dataDir: join(folder, `data-${name}`),
        settings: {
          shared_buffers: '16MB',
          ssl: 'on',
          ssl_cert_file: owned(`pg-${name}.pem`, cert),
          ssl_key_file: owned(`pg-${name}.key`, key),
        },
      })
    }
  })
  after(async () => {
    for (const server of Object.values(servers)) await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const address = (name: 'server' | 'expired', host = '127.0.0.1', ca = certificates.caFile) => {
    const url = new URL(servers[name]!.url)
    url.hostname = host
    url.searchParams.set('sslmode', 'verify-full')
    if (ca !== '') url.searchParams.set('sslrootcert', ca)
    return url.href
  }
  const ask = async (url: string) => {
    const pool = createPool(url, { max: 1 })
    try {
      const { rows } = await pool.query('select ssl from pg_stat_ssl where pid = pg_backend_pid()')
      return rows[0].ssl
    } finally {
      await pool.end()
    }
  }
  const refused = (url: string, says: RegExp) =>
    assert.rejects(ask(url), error => {
      const told = databaseTrouble(error, url) as OncewardError
      const { host, password } = new URL(url)
      assert.equal(told.code, 'configuration', String(error))
      assert.match(told.message, says)
      assert.ok(told.message.includes(`The database at ${host}/postgres`), told.message)
      assert.ok(!told.message.includes(password))
      assert.equal(diagnose(error), 'configuration', 'no message is blamed for it')
      return true
    })

  test('sslmode and sslrootcert of the address are used', async () => {
    assert.equal(await ask(address('server')), true)
  })

  test('an unknown authority, a wrong name and an expired certificate are refused with the name of the database', async () => {
    await refused(address('server', '127.0.0.1', ''), /not signed by a trusted authority/)
    await refused(address('server', 'localhost'), /does not cover the host name/)
    await refused(address('expired'), /has expired/)
  })
})
