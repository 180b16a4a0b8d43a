import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { skipWithout } from '../../packages/onceward/test/services/services.ts'
import { paymentCapture } from './payment-capture.ts'
import { request } from './produce.ts'
import { readSettings } from './settings.ts'
import { type BrokerName, openScene, type Scene } from './test/scene.ts'

const chargedAll = (scene: Scene, count: number) =>
  until(`${count} effects completed`, async () => {
    const [row] = await scene.rows(`select count(*)::int as n from onceward.ledger where state = 'completed'`)
    return row.n === count
  })
const heldCount = (scene: Scene, count: number) =>
  until(
    `${count} messages held`,
    async () => (await scene.rows('select 1 from onceward.held')).length === count,
  )
const captures = (scene: Scene) =>
  scene.rows('select capture_request_id as id, amount::int from capture order by 1')

for (const broker of ['postgres', 'rabbitmq'] as const satisfies BrokerName[]) {
  const services = broker === 'rabbitmq' ? (['postgres', 'rabbitmq'] as const) : (['postgres'] as const)

  describe(`payment capture over ${broker}`, await skipWithout(...services), () => {
    const test = (
      name: string,
      body: (scene: Scene) => Promise<void>,
      mood?: Parameters<typeof openScene>[1],
    ) =>
      it(name, async () => {
        const scene = await openScene(broker, mood)
        try {
          await body(scene)
        } finally {
          await scene.close()
        }
      })

    it('reads payment.capture.requested.q by default', () => {
      const environment = broker === 'rabbitmq' ? { ONCEWARD_RABBITMQ_URL: 'amqp://localhost' } : {}
      const { source } = paymentCapture(readSettings(environment))
      assert.deepEqual(
        [source.kind, (source as { queue?: unknown }).queue],
        [broker, 'payment.capture.requested.q'],
      )
    })

    test('1 manual ack: a consumer that dies before the commit loses nothing', async scene => {
      await scene.send(request(1))
      const child = await scene.spawn(['consumer'], 'batch.applied')
      if (child.signalCode === null) await once(child, 'exit')
      assert.equal(child.signalCode, 'SIGKILL')
      assert.deepEqual(await captures(scene), [])
      const running = await scene.run()
      await chargedAll(scene, 1)
      assert.deepEqual(await captures(scene), [{ id: 'cap-1', amount: 4_200 }])
      assert.equal(await scene.drained(running), 0)
    })

    test('2 an envelope without messageId, correlationId, schemaVersion or captureRequestId is dead-lettered', async scene => {
      const without = ['correlationId', 'schemaVersion', 'captureRequestId', 'messageId'] as const
      await scene.send(...without.map(name => request(name, { [name]: undefined })))
      const running = await scene.run()
      await heldCount(scene, 4)
      const held = await scene.rows(
        'select state::text, failure_class, code, reason from onceward.held order by id',
      )
      for (const [n, name] of without.entries()) {
        assert.equal(held[n].state, 'dead', held[n].reason)
        assert.deepEqual([held[n].failure_class, held[n].code], ['validation', 'invalid'])
        assert.match(held[n].reason, new RegExp(name))
      }
      assert.deepEqual(await captures(scene), [])
      assert.equal(await scene.drained(running), 0)
    })

    test('3 the inbox has one row per consumer and message id', async scene => {
      await scene.send(request(1), request(1), request(1))
      const running = await scene.run()
      await until('three deliveries decided', () => running.consumer!.tally.outcomes.duplicate === 2)
      const inbox = await scene.rows('select consumer_id, message_id, status::text from onceward.inbox')
      assert.deepEqual(inbox, [{ consumer_id: inbox[0].consumer_id, message_id: 'evt-1', status: 'applied' }])
      const again = `insert into onceward.inbox (consumer_id, run_id, status, message_id, digest)
        select consumer_id, run_id, status, message_id, digest from onceward.inbox`
      await assert.rejects(scene.rows(again), { code: '23505' })
    })

    test('4 the ledger has one row per captureRequestId, under any message id', async scene => {
      await scene.send(request(1), request(1, { messageId: 'evt-1-resent' }))
      const running = await scene.run()
      await until('both decided', () => running.consumer!.tally.outcomes.duplicate === 1)
      await chargedAll(scene, 1)
      assert.deepEqual(await scene.rows('select effect_key from onceward.ledger'), [{ effect_key: 'cap-1' }])
      const again = `insert into onceward.ledger (consumer_name, target, effect_key, run_id, message_id, request_digest, content_type, body)
        select consumer_name, target, effect_key, run_id, message_id, request_digest, content_type, body from onceward.ledger`
      await assert.rejects(scene.rows(again), { code: '23505' })
      assert.equal(scene.gateway.book.length, 1)
    })

    test('5 inbox and ledger commit before the ack: a crash between leaves one effect', async scene => {
      await scene.send(request(1))
      const child = await scene.spawn(['consumer'], 'batch.committed')
      if (child.signalCode === null) await once(child, 'exit')
      assert.equal(child.signalCode, 'SIGKILL')
      assert.equal((await scene.rows('select 1 from onceward.inbox')).length, 1)
      assert.equal((await scene.rows('select 1 from onceward.ledger')).length, 1)
      const running = await scene.run()
      await until('the redelivery is skipped', () => running.consumer!.tally.outcomes.duplicate === 1)
      await chargedAll(scene, 1)
      assert.deepEqual(await captures(scene), [{ id: 'cap-1', amount: 4_200 }])
      assert.equal(scene.gateway.book.length, 1)
      assert.equal(await scene.drained(running), 0)
    })

    test('6 a separate worker calls the gateway with captureRequestId as idempotency key', async scene => {
      await scene.send(request(1))
      const consumer = await scene.run({ parts: ['consumer'] })
      await until('applied', () => consumer.consumer!.tally.outcomes.applied === 1)
      assert.equal(await scene.drained(consumer), 0)
      assert.equal(scene.gateway.book.length, 0)
      await scene.spawn(['dispatcher'])
      await chargedAll(scene, 1)
      assert.deepEqual(
        scene.gateway.book.map(call => call.key),
        ['cap-1'],
      )
    })

    test('7 duplicate deliveries are acknowledged and do not call the gateway twice', async scene => {
      await scene.send(request(1), request(1))
      const running = await scene.run()
      await chargedAll(scene, 1)
      await scene.send(request(1), request(1), request(2))
      await chargedAll(scene, 2)
      await until('duplicates skipped', () => running.consumer!.tally.outcomes.duplicate === 3)
      assert.deepEqual(scene.gateway.book.map(call => call.key).sort(), ['cap-1', 'cap-2'])
      assert.equal(await scene.drained(running), 0)
    })

    test('8 the same message id with another payload is quarantined, with a copy in the dead-letter queue', async scene => {
      const other = request(1, { amount: 9_999 })
      const running = await scene.run()
      await scene.send(request(1))
      await chargedAll(scene, 1)
      await scene.send(other)
      await heldCount(scene, 1)
      const held = await scene.rows('select state::text, code, message_id from onceward.held')
      assert.deepEqual(held, [{ state: 'quarantined', code: 'conflict', message_id: 'evt-1' }])
      await until(
        'the copy has left',
        async () => (await scene.rows('select 1 from onceward.outbox')).length === 0,
      )
      assert.deepEqual(await scene.deadLetters(), [other])
      assert.deepEqual(await captures(scene), [{ id: 'cap-1', amount: 4_200 }])
      assert.equal(scene.gateway.book.length, 1)
      assert.equal(await scene.drained(running), 0)
    })

    test('10 duplicates delivered to several processes at once are applied once', async scene => {
      await Promise.all([1, 2, 3].map(() => scene.spawn(['consumer'])))
      const bodies = Array.from({ length: 40 }, (_, n) => request(n))
      await Promise.all([1, 2, 3, 4, 5].map(() => scene.send(...bodies)))
      const running = await scene.run()
      await chargedAll(scene, 40)
      await until('the queue is empty', async () => (await scene.depth()) === 0)
      assert.equal((await captures(scene)).length, 40)
      assert.equal((await scene.rows('select 1 from onceward.inbox')).length, 40)
      assert.deepEqual(
        [...new Set(scene.gateway.book.map(call => call.key))].length,
        scene.gateway.book.length,
      )
      assert.equal(await scene.drained(running), 0)
    })

    test(
      'success: a capture is charged at most once per captureRequestId although the gateway hangs and fails',
      async scene => {
        await scene.send(...Array.from({ length: 8 }, (_, n) => request(n)))
        await scene.run()
        await chargedAll(scene, 8)
        for (let n = 0; n < 8; n++) assert.equal(scene.gateway.charges(`cap-${n}`), 1)
        assert.ok(scene.gateway.book.length > 8, 'some calls were repeated')
        const bytes = Map.groupBy(scene.gateway.book, call => call.key)
        for (const calls of bytes.values()) assert.equal(new Set(calls.map(call => call.body)).size, 1)
      },
      call =>
        (['charges and hangs', 'charges and answers 500', 'is busy', 'answers'] as const)[Math.min(call, 3)]!,
    )

    test('success: failures are classified as retryable or permanent', async scene => {
      const running = await scene.run()
      // Comes with the first failed attempt, and so before the last.
      await scene.rows(`create function arrive() returns trigger language plpgsql as
          $$ begin insert into merchant values ('merchant-3') on conflict do nothing; return null; end $$;
        create trigger arrive after insert on onceward.attempt for each row when (new.message_id = 'evt-late') execute function arrive()`)
      await scene.send(
        request('late', { merchantId: 'merchant-3' }),
        request('never', { merchantId: 'merchant-2' }),
      )
      await chargedAll(scene, 1)
      assert.ok(running.consumer!.tally.outcomes.retry! > 0, 'one was tried again')
      await heldCount(scene, 1)
      assert.deepEqual(await scene.rows('select state::text, message_id, reason from onceward.held'), [
        { state: 'dead', message_id: 'evt-never', reason: 'merchant merchant-2 is blocked' },
      ])
      await scene.send(request('unknown', { merchantId: 'merchant-4' }))
      await heldCount(scene, 2)
      const [parked] = await scene.rows(
        `select attempts, state::text from onceward.held where state = 'parked'`,
      )
      assert.deepEqual(parked, { attempts: 3, state: 'parked' })
    })

    test(
      'success: the gateway refusing a capture is permanent and waits for an operator',
      async scene => {
        await scene.send(request(1))
        await scene.run()
        await until(
          'failed',
          async () => (await scene.rows(`select 1 from onceward.ledger where state = 'failed'`)).length === 1,
        )
        assert.equal(scene.gateway.book.length, 1)
      },
      () => 'declines',
    )

    test('success: a rebuild under a new generation restores internal state and captures nothing', async scene => {
      const bodies = Array.from({ length: 20 }, (_, n) => request(n, { amount: 100 + n }))
      await scene.send(...bodies, bodies[0]!)
      const live = await scene.run()
      await chargedAll(scene, 20)
      await scene.drained(live)
      const calls = scene.gateway.book.length
      await scene.send(...bodies, ...bodies)
      const rebuild = await scene.run({ mode: 'rebuild', settings: { generation: 2 } })
      await until('all read again', () => rebuild.consumer!.tally.outcomes.duplicate === 20)
      assert.equal(await scene.drained(rebuild), 0)
      const rebuilt = await scene.rows('select * from capture_rebuilt order by 1')
      assert.deepEqual(rebuilt, await scene.rows('select * from capture order by 1'))
      assert.equal(rebuilt.length, 20)
      assert.equal(scene.gateway.book.length, calls)
      assert.equal((await scene.rows('select 1 from onceward.ledger')).length, 20)
    })
  })
}
