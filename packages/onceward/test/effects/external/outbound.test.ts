import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import { type AddressInfo, createServer as createPlainServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import type { ExternalTarget } from '../../../src/contract/external-target.ts'
import {
  guardedLookup,
  isPrivateAddress,
  type Resolve,
} from '../../../src/effects/external/http/address-guard.ts'
import { openHttp } from '../../../src/effects/external/http/send-http.ts'
import { resolveTarget } from '../../../src/effects/external/targets/resolve-target.ts'
import { makeCertificates } from '../../kafka/certificates.ts'
import { Gateway } from '../gateway.ts'

const never = { signal: new AbortController().signal, expired: () => false }
const body = Buffer.from('{}')

describe('where calls may go', () => {
  for (const address of [
    '127.0.0.1',
    '10.1.2.3',
    '172.31.255.255',
    '192.168.0.1',
    '100.64.0.1',
    '169.254.169.254',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '198.18.0.1',
    '::',
    '::1',
    'fe80::1',
    'fc00::1',
    'fd00:ec2::254',
    '::ffff:127.0.0.1',
    '::ffff:a9fe:a9fe',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    'ff02::1',
    'not an address',
  ])
    it(`${address} is no public address`, () => assert.equal(isPrivateAddress(address), true))

  for (const address of ['1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700:4700::1111', '2a00:1450::1'])
    it(`${address} is a public address`, () => assert.equal(isPrivateAddress(address), false))

  const resolving =
    (...addresses: string[]): Resolve =>
    (_, done) =>
      done(
        null,
        addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
      )

  it('a name with one private address among public ones is refused', (_, done) => {
    guardedLookup(resolving('1.1.1.1', '10.0.0.1'))('mixed.example', { all: true }, error => {
      assert.equal(error?.code, 'ERR_ADDRESS_REFUSED')
      done()
    })
  })

  it('a name that leads to this machine is not called, and nothing is sent', async () => {
    const gateway = await new Gateway().open()
    const { port } = new URL(gateway.url)
    const send = openHttp({
      url: new URL(`http://innocent.example:${port}/charges`),
      method: 'POST',
      replayedHeader: 'x',
      allowPrivate: false,
      keepConnections: true,
      connectionsMax: 1,
      timeoutMs: 5_000,
      resolve: resolving('127.0.0.1'),
    })
    const answer = await send({ 'idempotency-key': 'k' }, body, never)
    gateway.close()
    assert.equal(answer.kind, 'not reached')
    assert.match(
      (answer as { error: string }).error,
      /innocent\.example resolves to 127\.0\.0\.1.*allowPrivate/,
    )
    assert.equal(gateway.calls.length, 0)
  })

  it('a target with an untrusted certificate is not called', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'onceward-outbound-'))
    after(() => rmSync(folder, { recursive: true }))
    const seen: string[] = []
    const server = createServer(makeCertificates(folder).client, (request, response) => {
      seen.push(request.url!)
      response.end()
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    after(() => server.close())
    const send = openHttp({
      url: new URL(`https://localhost:${(server.address() as AddressInfo).port}/`),
      method: 'POST',
      replayedHeader: 'x',
      allowPrivate: true,
      keepConnections: true,
      connectionsMax: 1,
      timeoutMs: 5_000,
    })
    const answer = await send({}, body, never)
    assert.deepEqual([answer.kind, seen], ['not reached', []])
  })

  it('a target that switches protocols ends the call as lost', async () => {
    const server = createPlainServer(socket => {
      socket.on('error', () => {})
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
      )
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    after(() => server.close())
    const send = openHttp({
      url: new URL(`http://localhost:${(server.address() as AddressInfo).port}/`),
      method: 'POST',
      replayedHeader: 'x',
      allowPrivate: true,
      keepConnections: true,
      connectionsMax: 1,
      timeoutMs: 5_000,
    })
    const answer = await send({}, body, never)
    assert.equal(answer.kind, 'lost')
  })

  describe('a target on a socket of its own', () => {
    /** Answers each request on a connection with what `reply` says; null: never. */
    const openTo = async (reply: (request: number) => string | null, keepConnections = true) => {
      const seen = { connections: 0, requests: 0 }
      const server = createPlainServer(socket => {
        seen.connections++
        socket.on('error', () => {})
        after(() => socket.destroy())
        socket.on('data', () => {
          const answer = reply(++seen.requests)
          if (answer !== null) socket.write(answer)
        })
      })
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      after(() => server.close())
      const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
      const traits = { method: 'POST', replayedHeader: 'x', allowPrivate: true, connectionsMax: 1 }
      return { seen, send: openHttp({ ...traits, url, keepConnections, timeoutMs: 5_000 }) }
    }
    const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

    it('is called on one connection again and again where connections are kept, else on new ones', async () => {
      for (const [kept, connections] of [
        [true, 1],
        [false, 3],
      ] as const) {
        const { seen, send } = await openTo(() => ok, kept)
        for (let call = 0; call < 3; call++) {
          const answer = await send({}, body, never)
          assert.deepEqual([answer.kind, 'status' in answer && answer.status], ['answered', 200])
        }
        assert.deepEqual(seen, { connections, requests: 3 })
      }
    })

    it('may send an informational response before its answer', async () => {
      const hint = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'
      const { seen, send } = await openTo(request => (request === 1 ? `${hint}${ok}` : hint))
      const answer = await send({}, body, never)
      assert.equal(answer.kind === 'answered' && answer.status, 200)
      const given = new AbortController()
      const lost = send({}, body, { ...never, signal: given.signal })
      await until('the second is there', () => seen.requests === 2)
      await new Promise(setImmediate)
      given.abort(new Error('too late'))
      assert.equal((await lost).kind, 'lost')
    })

    it('gets no byte when the deadline passes before the connection is open', async () => {
      const { seen, send } = await openTo(() => ok)
      const answer = await send({}, body, { ...never, expired: () => true })
      assert.deepEqual([answer.kind, seen.requests], ['not reached', 0])
      assert.match((answer as { error: string }).error, /deadline passed/)
    })

    it('a call that is aborted after it was sent is lost, and the next one gets its own connection', async () => {
      const { seen, send } = await openTo(request => (request === 1 ? null : ok))
      const given = new AbortController()
      const lost = send({}, body, { ...never, signal: given.signal })
      await until('it is there', () => seen.requests === 1)
      given.abort(new Error('too late'))
      assert.deepEqual(await lost, { kind: 'lost', error: 'Error: too late' })
      assert.equal((await send({}, body, never)).kind, 'answered')
      assert.deepEqual(seen, { connections: 2, requests: 2 })
    })

    it('is never reached by a call that was aborted while it waited for a connection', async () => {
      const { seen, send } = await openTo(request => (request === 1 ? null : ok))
      const [first, second] = [new AbortController(), new AbortController()]
      const sent = send({}, body, { ...never, signal: first.signal })
      await until('the first is there', () => seen.requests === 1)
      const waiting = send({}, body, { ...never, signal: second.signal })
      second.abort(new Error('too late'))
      assert.deepEqual(await waiting, { kind: 'not reached', error: 'Error: too late' })
      first.abort(new Error('too late'))
      await sent
      assert.equal((await send({}, body, never)).kind, 'answered')
      assert.equal(seen.requests, 2)
    })
  })

  const refusals: [string, ExternalTarget, RegExp][] = [
    ['plain http', { url: 'http://shop.example/' }, /not encrypted/],
    ['an address for a name', { url: 'https://10.0.0.1/' }, /names an address/],
    ['a mapped address', { url: 'https://[::ffff:127.0.0.1]/' }, /names an address/],
    ['an odd port', { url: 'https://shop.example:8443/' }, /ports: \[8443\]/],
    ['credentials in the url', { url: 'https://me:secret@shop.example/' }, /carries credentials/],
    [
      'a credential in the file',
      { url: 'https://shop.example/', headers: { Authorization: 'Bearer x' } },
      /env: 'NAME'/,
    ],
    [
      'a keyless target without a policy',
      { url: 'https://shop.example/', keyHeader: null },
      /policy is missing/,
    ],
    [
      'a keyless target that is keyed',
      { url: 'https://shop.example/', keyHeader: null, policy: 'keyed' },
      /keyHeader is null/,
    ],
    [
      'query first without a query',
      { url: 'https://shop.example/', policy: 'query first' },
      /query is required/,
    ],
    [
      'a custom target without a policy',
      { kind: 'custom', call: async () => ({ result: 'completed' }) },
      /policy is missing/,
    ],
    [
      'e-mail without a policy',
      { kind: 'email', host: 'mail.example', from: 'a@b.example' },
      /policy is missing/,
    ],
    [
      'e-mail that is keyed',
      { kind: 'email', host: 'mail.example', from: 'a@b.example', policy: 'keyed' },
      /SMTP has no idempotency keys/,
    ],
    [
      'e-mail in the clear',
      { kind: 'email', host: 'mail.example', from: 'a@b.example', policy: 'manual', tls: 'none' },
      /allowPrivate/,
    ],
    [
      'a content type for every effect',
      { url: 'https://shop.example/', headers: { 'Content-Type': 'text/plain' } },
      /headers\.Content-Type is set by each effect: pass contentType/,
    ],
    [
      'a header that is the key',
      { url: 'https://shop.example/', keyHeader: 'X-Key', headers: { 'x-key': '1' } },
      /headers\.x-key carries the key/,
    ],
    [
      'a header of a signature',
      {
        kind: 'webhook',
        url: 'https://shop.example/',
        secrets: { a: { env: 'A' } },
        headers: { 'Webhook-Id': '1' },
      },
      /headers\.Webhook-Id carries the key/,
    ],
    ...['Content-Length', 'Transfer-Encoding', 'Connection', 'Expect'].map(
      name =>
        [
          `the header ${name}`,
          { url: 'https://shop.example/', headers: { [name]: '5' } },
          new RegExp(`headers\\.${name} is written by the HTTP client`),
        ] as [string, ExternalTarget, RegExp],
    ),
    [
      'a webhook without secrets',
      { kind: 'webhook', url: 'https://shop.example/', secrets: {} },
      /at least one secret/,
    ],
  ]
  for (const [what, target, why] of refusals)
    it(`${what} is refused at start`, () => {
      assert.throws(() => resolveTarget('shop', target, { consumerName: 'c' }), why)
    })

  it('a secret that is not set is refused by the name of its variable', () => {
    const target = { url: 'https://shop.example/', headers: { Authorization: { env: 'SHOP_TOKEN' } } }
    assert.throws(
      () => resolveTarget('shop', target, { consumerName: 'c', readVariable: () => undefined }),
      /SHOP_TOKEN/,
    )
  })

  it('a secret is sent, and shows nowhere in the target', async () => {
    const gateway = await new Gateway().open()
    after(() => gateway.close())
    const target = {
      url: gateway.url,
      allowPrivate: true,
      headers: { Authorization: { env: 'SHOP_TOKEN', prefix: 'Bearer ' } },
    }
    const resolved = resolveTarget('shop', target, { consumerName: 'c', readVariable: () => 'hush-hush' })
    assert.doesNotMatch(JSON.stringify(resolved), /hush/)
  })
})
