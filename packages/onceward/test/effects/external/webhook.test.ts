import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { verifyWebhook } from '../../../src/effects/external/webhook/verify-webhook.ts'
import { skipWithout } from '../../services/services.ts'
import { openRig, type Rig } from './rig.ts'

const secrets = {
  old: 'an old secret of some length',
  new: `whsec_${Buffer.alloc(24, 7).toString('base64')}`,
}

describe('a signed webhook', await skipWithout('postgres'), () => {
  let rig: Rig
  const calls: { headers: IncomingHttpHeaders; body: Buffer }[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    calls.push({ headers: request.headers, body: Buffer.concat(chunks) })
    response.writeHead(calls.length === 1 ? 500 : 200).end()
  })

  before(async () => {
    rig = await openRig()
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const consumer = rig.nextConsumer()
    await rig.scene.intend(consumer, ['hook-1'])
    const dispatcher = await rig.startWith(
      consumer,
      {
        kind: 'webhook',
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
        allowPrivate: true,
        secrets: { old: { env: 'OLD' }, new: { env: 'NEW' } },
        timeoutMs: 6_000,
        retryDelayMs: 1,
        retryDelayMaxMs: 5,
      },
      { readVariable: name => ({ OLD: secrets.old, NEW: secrets.new })[name] },
    )
    await until('it is delivered', async () => (await rig.scene.states(consumer)).completed === 1)
    await dispatcher.drain()
  })
  after(async () => {
    server.close()
    await rig.close()
  })

  const verify = (changes: Partial<Parameters<typeof verifyWebhook>[0]> = {}) =>
    verifyWebhook({ ...calls[0]!, secrets, nowMs: Date.now(), ...changes })

  it('is repeated under the same id and bytes, freshly signed', () => {
    assert.equal(calls.length, 2)
    assert.deepEqual(calls[0]!.body, calls[1]!.body)
    for (const call of calls)
      assert.deepEqual(verifyWebhook({ ...call, secrets, nowMs: Date.now() }), {
        ok: true,
        id: 'hook-1',
        keyId: 'old',
      })
  })

  it('is accepted with either secret during a rotation', () => {
    assert.deepEqual(verify({ secrets: { new: secrets.new } }), { ok: true, id: 'hook-1', keyId: 'new' })
    assert.deepEqual(verify({ secrets: { old: secrets.old } }), { ok: true, id: 'hook-1', keyId: 'old' })
    assert.equal(calls[0]!.headers['webhook-key-id'], 'old new')
  })

  it('is signed as Standard Webhooks say: id, time and body', () => {
    const { headers, body } = calls[0]!
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    const expected = createHmac('sha256', Buffer.alloc(24, 7)).update(signed).digest('base64')
    assert.ok(String(headers['webhook-signature']).split(' ').includes(`v1,${expected}`))
  })

  it('is refused when anything was changed, is missing, unknown or old', () => {
    const { headers, body } = calls[0]!
    const refused = [
      verify({ body: Buffer.concat([body, Buffer.from(' ')]) }),
      verify({ headers: { ...headers, 'webhook-id': 'hook-2' } }),
      verify({
        headers: { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) },
      }),
      verify({ headers: { ...headers, 'webhook-timestamp': 'soon' } }),
      verify({ headers: { ...headers, 'webhook-signature': 'v1,' } }),
      verify({ headers: { ...headers, 'webhook-signature': undefined } }),
      verify({ secrets: { old: 'another secret of some length' } }),
      verify({ secrets: {} }),
      verify({ nowMs: Date.now() + 400_000 }),
      verify({ nowMs: Date.now() - 400_000 }),
    ]
    assert.deepEqual(
      refused.map(({ ok }) => ok),
      refused.map(() => false),
    )
  })

  it('is not accepted with a well-known secret', () => {
    const { headers, body } = calls[0]!
    for (const secret of ['', 'whsec_', undefined as unknown as string]) {
      const text = `${headers['webhook-id']}.${headers['webhook-timestamp']}.`
      const forged = createHmac('sha256', '').update(text).update(body).digest('base64')
      const signed = { ...headers, 'webhook-signature': `v1,${forged}` }
      assert.equal(verify({ headers: signed, secrets: { old: secret } }).ok, false)
    }
  })

  it('needs secrets of some length', () => {
    const target = {
      kind: 'webhook',
      url: 'https://a.example/',
      timeoutMs: 6_000,
      secrets: { a: { env: 'A' } },
    } as const
    return assert.rejects(
      rig.startWith(rig.nextConsumer(), target, { readVariable: () => 'short' }),
      /shorter than 16 bytes/,
    )
  })
})
