import assert from 'node:assert/strict'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import type { EmailTarget } from '../../../src/contract/external-target.ts'
import { readMail } from '../../../src/effects/external/smtp/mail.ts'
import { loadComposer } from '../../../src/effects/external/smtp/mail-composer.ts'
import { renderMail } from '../../../src/effects/external/smtp/render-mail.ts'
import { sendMail } from '../../../src/effects/external/smtp/send-mail.ts'
import { emailSend } from '../../../src/effects/external/targets/email-target.ts'
import { bytesDigest } from '../../../src/message/digest.ts'
import { renameConsumer } from '../../../src/operations/server/names.ts'
import { skipWithout } from '../../services/services.ts'
import { type MailMood, MailServer } from './mail-server.ts'
import { openRig, type Rig } from './rig.ts'

const frame = {
  from: 'orders@shop.example',
  messageIdDomain: 'shop.example',
  identity: 'a\0b',
  createdAt: new Date(0),
}
const mail = { to: 'ada@shop.example', subject: 'Grüße, your parcel 📦', text: '.hidden dot\n..two\nend' }

describe('e-mail', await skipWithout('postgres'), () => {
  let rig: Rig
  let server: MailServer

  before(async () => {
    rig = await openRig()
    server = await new MailServer().open()
  })
  after(async () => {
    server.close()
    await rig.close()
  })

  async function send(moods: readonly MailMood[], traits: Partial<EmailTarget> = {}, body: unknown = mail) {
    const consumer = rig.nextConsumer()
    const key = `${consumer}-mail`
    server.mails.length = 0
    server.moods.splice(0, server.moods.length, ...moods)
    server.connections = 0
    await rig.scene.intend(consumer, [key], () => JSON.stringify(body))
    const dispatcher = await rig.startWith(consumer, {
      kind: 'email',
      host: '127.0.0.1',
      port: server.port,
      tls: 'none',
      allowPrivate: true,
      from: 'orders@shop.example',
      policy: 'at most once',
      timeoutMs: 6_000,
      retryDelayMs: 1,
      retryDelayMaxMs: 5,
      ...traits,
    })
    await until('it settles', async () => (await rig.scene.row(consumer, key)).due === 'infinity')
    await dispatcher.drain()
    return {
      row: await rig.scene.row(consumer, key),
      mails: [...server.mails],
      connections: server.connections,
    }
  }

  const decoded = (message: string) => {
    const [head, ...rest] = message.split('\r\n\r\n')
    return { head: head!, text: Buffer.from(rest.join('\r\n\r\n'), 'base64').toString() }
  }

  /** RFC 2047: words of base64 or of quoted printable, the spaces between them being none. */
  const subjectOf = (head: string) => {
    const [, folded] = /^Subject: (.*(?:\r\n .*)*)$/m.exec(head)!
    const words = [...folded!.matchAll(/=\?utf-8\?([BQ])\?([^?]*)\?=/gi)].map(([, way, word]) =>
      way === 'B'
        ? Buffer.from(word!, 'base64')
        : Buffer.from(
            word!
              .replaceAll('_', ' ')
              .replaceAll(/=(..)/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
            'latin1',
          ),
    )
    return Buffer.concat(words).toString()
  }

  it('arrives once, with a Message-ID that follows from the effect', async () => {
    const { row, mails } = await send([])
    assert.deepEqual([row.state, row.response_status, mails.length], ['completed', 250, 1])
    assert.deepEqual([mails[0]!.from, mails[0]!.to], ['orders@shop.example', ['ada@shop.example']])
    const { head, text } = decoded(mails[0]!.message)
    assert.match(head, /^Message-ID: <[0-9a-f]{40}@shop\.example>$/m)
    assert.equal(text, mail.text.replaceAll('\n', '\r\n'))
    assert.equal(subjectOf(head), mail.subject)
  })

  it('is recorded with any reply of the server', async () => {
    const { row } = await send([{ message: '250 queued\0as 1' }])
    assert.deepEqual([row.state, row.last_error], ['completed', 'accepted: queued\\0as 1'])
    const refused = await send([{ RCPT: '550 no\0body' }])
    assert.deepEqual([refused.row.state, refused.row.response_status], ['failed', 550])
  })

  for (const step of ['greeting', 'EHLO', 'MAIL', 'RCPT', 'DATA'] as const) {
    it(`is retried when the server disconnects at ${step}: nothing was sent`, async () => {
      const { row, mails, connections } = await send([{ [step]: 'gone' }])
      assert.deepEqual([row.state, mails.length, connections], ['completed', 1, 2])
    })
    it(`is tried again when ${step} is answered with "later"`, async () => {
      const { row, mails } = await send([{ [step]: '451 greylisted' }])
      assert.deepEqual([row.state, row.attempts, mails.length], ['completed', 2, 1])
    })
  }

  for (const [policy, state] of [
    ['at most once', 'unknown'],
    ['manual', 'reconciling'],
  ] as const) {
    for (const mood of ['gone', 'silence'] as const)
      it(`${policy}: is ${state} when the server accepts it and then is ${mood}, and is not sent again`, async () => {
        const { row, mails } = await send([{ afterAccepting: mood }], { policy, timeoutMs: 2_000 })
        assert.deepEqual([row.state, row.attempts, mails.length], [state, 1, 1])
      })
  }

  it('is the same mail when an operator sends it again after its consumer was renamed', async () => {
    const first = await send([{ afterAccepting: 'gone' }], { policy: 'manual', timeoutMs: 2_000 })
    assert.equal(first.row.state, 'reconciling')
    const { pool } = rig.scene
    const [{ name }] = (
      await pool.query(`select consumer_name as name from onceward.ledger order by id desc limit 1`)
    ).rows
    await pool.query(
      `insert into onceward.consumer (name, generation, owner, risk, dedup) values ($1, 1, 't', 'money', 'marker')`,
      [name],
    )
    await renameConsumer(pool, name, `${name}_anew`, 'a test')
    await pool.query(
      `update onceward.ledger set state = 'retryable', due_at = clock_timestamp() where consumer_name = $1`,
      [`${name}_anew`],
    )
    const dispatcher = await rig.startWith(`${name}_anew`, {
      kind: 'email',
      host: '127.0.0.1',
      port: server.port,
      tls: 'none',
      allowPrivate: true,
      from: 'orders@shop.example',
      policy: 'manual',
      timeoutMs: 2_000,
    })
    await until('it was sent again', () => server.mails.length === 2)
    await dispatcher.drain()
    assert.equal(server.mails[1]!.message, first.mails[0]!.message)
  })

  it('is tried again when the whole message is answered with "later", and fails when refused', async () => {
    const later = await send([{ message: '452 full' }])
    assert.deepEqual([later.row.state, later.mails.length], ['completed', 1])
    const refused = await send([{ RCPT: '550 no such user' }])
    assert.deepEqual(
      [refused.row.state, refused.row.response_status, refused.mails.length],
      ['failed', 550, 0],
    )
  })

  it('waits when the server refuses the connection, without using attempts', async () => {
    const { row } = await send([{ MAIL: '530 authentication required' }], { retryDelayMaxMs: 20 })
    assert.deepEqual([row.state, row.attempts], ['completed', 2])
  })

  it('credentials that a server repeats are not stored in the ledger', async () => {
    server.moods.splice(0, server.moods.length, { EHLO: '250-test\r\n250 AUTH PLAIN' })
    const { port } = server
    const to = {
      host: '127.0.0.1',
      port,
      tls: 'none',
      credentials: { user: 'me', password: 'hush-hush' },
    } as const
    const outgoing = { from: 'a@b.example', to: ['c@d.example'], message: Buffer.from('x\r\n') }
    const answer = await sendMail(to, outgoing, { signal: AbortSignal.timeout(10_000), expired: () => false })
    assert.match(JSON.stringify(answer), /AUTH was answered 500/)
    assert.doesNotMatch(JSON.stringify(answer), /AG1lAGh1c2gtaHVzaA/)
  })

  it('answers from before TLS are discarded', async () => {
    const between = createServer(socket => {
      socket.on('error', () => {})
      socket.write('220 test\r\n')
      socket.on('data', chunk =>
        socket.write(
          String(chunk).startsWith('EHLO') ? '250 STARTTLS\r\n' : '220 go on\r\n250-AUTH PLAIN\r\n',
        ),
      )
    })
    await new Promise<void>(resolve => between.listen(0, '127.0.0.1', resolve))
    after(() => between.close())
    const { port } = between.address() as AddressInfo
    const to = { host: '127.0.0.1', port, tls: 'starttls', credentials: null } as const
    const outgoing = { from: 'a@b.example', to: ['c@d.example'], message: Buffer.from('x\r\n') }
    const answer = await sendMail(to, outgoing, { signal: AbortSignal.timeout(10_000), expired: () => false })
    assert.match((answer as { error: string }).error, /sent data before TLS began/)
  })

  it('that is not a valid mail is not sent', async () => {
    const { row, mails } = await send([], {}, { ...mail, subject: 'x\r\nBcc: eve@evil.example' })
    assert.deepEqual([row.state, mails.length], ['failed', 0])
    assert.match(row.last_error!, /subject must be one line/)
  })

  it('refuses text that could add a header or a command', () => {
    const bad = [
      { ...mail, to: 'ada@shop.example\r\nRCPT TO:<eve@evil.example>' },
      { ...mail, to: ['ada@shop.example', 'a b@c'] },
      { ...mail, to: [] },
      { ...mail, to: '<ada@shop.example>' },
      { ...mail, replyTo: 'x\n@y' },
      { ...mail, bcc: 'eve@evil.example' },
      { ...mail, text: undefined },
      [],
      null,
    ]
    for (const one of bad)
      assert.ok('problem' in readMail(Buffer.from(JSON.stringify(one))), JSON.stringify(one))
  })

  it('is the same bytes whenever it is rendered, in lines no server refuses', async () => {
    const compose = loadComposer()!
    const long = { ...mail, subject: '長'.repeat(200), html: `<p>${'x'.repeat(5_000)}</p>` }
    const once = await renderMail(compose, long, frame)
    assert.deepEqual(await renderMail(loadComposer()!, { ...long }, { ...frame }), once)
    const lines = once.toString().split('\r\n')
    assert.ok(lines.every(line => line.length <= 998 && !line.includes('\n')))
    assert.equal(lines.at(-1), '')
    assert.equal(subjectOf(once.toString()), long.subject)
    assert.notDeepEqual(await renderMail(compose, long, { ...frame, identity: 'a\0c' }), once)
  })

  it('reads no file and no address named in its text', async () => {
    const texts = { ...mail, text: 'file:///etc/hostname', html: 'http://127.0.0.1:1/' }
    const message = (await renderMail(loadComposer()!, texts, frame)).toString()
    for (const text of [texts.text, texts.html])
      assert.ok(message.includes(Buffer.from(text).toString('base64')), text)
  })

  const target = { kind: 'email', host: 'mail.example', from: 'a@b.example', policy: 'manual' } as const
  const refuse = (why: string) => new Error(why)
  const secret = () => ''

  it('is refused where nodemailer is not installed, before anything is sent', () => {
    assert.equal(loadComposer('file:///nowhere/at/all.js'), null)
    assert.throws(
      () => emailSend({ consumerName: 'c', name: 'm' }, target, secret, refuse, null),
      /npm install nodemailer/,
    )
  })

  it('that cannot be written is not sent', async () => {
    const broken = () => Promise.reject(new Error('no such charset'))
    const send = emailSend({ consumerName: 'c', name: 'm' }, target, secret, refuse, broken)
    const body = Buffer.from(JSON.stringify(mail))
    const request = {
      key: 'k',
      body,
      contentType: 'application/json',
      requestDigest: bytesDigest(body),
      createdAt: new Date(0),
      leasedAtMs: 0,
      attempts: 1,
    }
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const answer = await send(request, { signal: AbortSignal.timeout(5_000), expired: () => false, log })
    assert.deepEqual(answer, {
      kind: 'not sendable',
      error: 'The mail cannot be composed: Error: no such charset. Nothing was sent.',
    })
  })
})
