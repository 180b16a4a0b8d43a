import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer, type LookupFunction, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import tls, { TLSSocket } from 'node:tls'
import { type MailServer, sendMail } from '../../../src/effects/external/smtp/send-mail.ts'
import { makeCertificates } from '../../kafka/certificates.ts'

const credentials = { user: 'me', password: 'hush-hush' }
const secret = Buffer.from('\0me\0hush-hush').toString('base64')
const toThisMachine: LookupFunction = (_, { all }, done) =>
  all === true ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)

describe('a mail server with TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-mail-'))
  const trusted = tls.getCACertificates('default')
  let pair: { key: string; cert: string }
  let ca: string

  before(() => {
    const made = makeCertificates(folder)
    const pem = readFileSync(made.keystoreFile, 'utf8')
    pair = { key: pem, cert: pem }
    ca = made.ca
  })
  after(() => {
    tls.setDefaultCACertificates(trusted)
    rmSync(folder, { recursive: true })
  })

  /** Says what it heard, and whether in the clear. */
  async function open(mode: MailServer['tls']) {
    const heard: string[] = []
    const serve = (socket: Socket, secured: boolean, greets: boolean) => {
      let data = false
      let buffer = ''
      socket.on('error', () => {})
      if (greets) socket.write('220 test\r\n')
      const answer = (line: string): string => {
        if (line.startsWith('EHLO')) return secured ? '250-test\r\n250 AUTH PLAIN LOGIN' : '250 STARTTLS'
        if (line === `AUTH PLAIN ${secret}`) return '235 welcome'
        if (line === 'DATA') data = true
        return line === 'DATA' ? '354 go on' : '250 ok'
      }
      socket.on('data', chunk => {
        buffer += chunk
        for (let end = buffer.indexOf('\r\n'); end >= 0; end = buffer.indexOf('\r\n')) {
          const line = buffer.slice(0, end)
          buffer = buffer.slice(end + 2)
          heard.push(`${secured ? '' : 'in the clear: '}${line}`)
          if (line === 'STARTTLS') {
            socket.removeAllListeners('data')
            socket.write('220 go on\r\n')
            return serve(new TLSSocket(socket, { isServer: true, ...pair }), true, false)
          }
          if (data && line !== '.') continue
          if (line === '.') data = false
          socket.write(`${answer(line)}\r\n`)
        }
      })
    }
    const server = createServer(socket =>
      mode === 'implicit'
        ? serve(new TLSSocket(socket, { isServer: true, ...pair }), true, true)
        : serve(socket, false, true),
    )
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    after(() => server.close())
    return { heard, port: (server.address() as AddressInfo).port }
  }

  const outgoing = { from: 'a@b.example', to: ['c@d.example'], message: Buffer.from('hello\r\n') }
  const send = (port: number, mode: MailServer['tls'], host: string) =>
    sendMail({ host, port, tls: mode, credentials, lookup: toThisMachine }, outgoing, {
      signal: AbortSignal.timeout(10_000),
      expired: () => false,
    })

  for (const mode of ['starttls', 'implicit'] as const) {
    it(`gets the mail and the credentials under TLS alone (${mode})`, async t => {
      const warned = t.mock.method(process, 'emitWarning')
      tls.setDefaultCACertificates([...trusted, ca])
      for (const host of ['kafka.test', '127.0.0.1']) {
        const { heard, port } = await open(mode)
        assert.deepEqual(
          { ...(await send(port, mode, host)), note: null },
          {
            kind: 'reported',
            result: 'completed',
            status: 250,
            digest: null,
            note: null,
            retryAfterMs: null,
          },
        )
        const clear = heard.filter(line => line.startsWith('in the clear'))
        const wanted = ['in the clear: EHLO onceward.invalid', 'in the clear: STARTTLS']
        assert.deepEqual(clear, mode === 'starttls' ? wanted : [])
        assert.ok(heard.includes(`AUTH PLAIN ${secret}`) && heard.includes('hello'))
      }
      assert.equal(warned.mock.callCount(), 0)
    })

    it(`that fails verification gets neither (${mode})`, async () => {
      tls.setDefaultCACertificates([...trusted, ca])
      const { heard, port } = await open(mode)
      for (const host of ['mail.other.test', '127.0.0.2'])
        assert.equal((await send(port, mode, host)).kind, 'not reached')
      tls.setDefaultCACertificates(trusted)
      assert.equal((await send(port, mode, 'kafka.test')).kind, 'not reached')
      assert.ok(!heard.some(line => line.includes('AUTH') || line === 'hello'))
    })
  }
})
