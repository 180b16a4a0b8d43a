import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from 'onceward/testing'
import { startProxyFor } from '../proxy/tcp-proxy.ts'
import { ensurePgbouncer, skipWithout } from '../services/services.ts'
import { libraries } from './libraries.ts'
import { openEffects, startConsumer } from './rig.ts'

const available = await skipWithout('postgres')

for (const library of libraries) {
  describe(`the marker and a write through ${library.name}`, available, () => {
    test('commit together, once, for any number of deliveries', async () => {
      await using database = await openEffects()
      await using consumer = await startConsumer(database.url, library)
      consumer.publish('a', 'b', 'a')
      await consumer.settled()
      consumer.publish('a', 'b')
      await consumer.settled()
      assert.deepEqual(await database.effects(), ['a', 'b'])
      assert.deepEqual(await database.markers(consumer.name), ['a applied', 'b applied'])
      assert.deepEqual(consumer.process.tally.outcomes, { applied: 2, duplicate: 3 })
    })

    test('roll back together when the handler throws, and are retried together', async () => {
      await using database = await openEffects()
      const seen: string[][] = []
      let calls = 0
      await using consumer = await startConsumer(database.url, library, {
        async handle({ message, tx }) {
          seen.push([...(await database.effects()), ...(await database.markers(consumer.name))])
          await library.write(tx, message.id)
          if (++calls === 1) throw new Error('after the write')
        },
      })
      consumer.publish('a')
      await consumer.settled()
      assert.deepEqual(seen, [[], []])
      assert.deepEqual(await database.effects(), ['a'])
      assert.deepEqual(await database.markers(consumer.name), ['a applied'])
      assert.deepEqual(await database.attempts(), ['a'])
    })

    test('stay undecided when the answer to COMMIT is lost', async () => {
      await using database = await openEffects()
      const proxy = await startProxyFor(database.url)
      await using consumer = await startConsumer(proxy.through(database.url), library)
      for (const id of ['a', 'b', 'c']) {
        let dropped = false
        proxy.toServer(bytes => {
          if (/commit;?\0/i.test(bytes.toString('latin1'))) {
            dropped = true
            proxy.toClient(() => null)
          }
          return bytes
        })
        consumer.publish(id)
        await until('the effect is durable', async () => (await database.effects()).includes(id))
        assert.ok(dropped)
        assert.equal(consumer.queue.unsettled, 1, 'nothing is settled while the answer is unknown')
        proxy.toServer(null)
        proxy.toClient(null)
        proxy.cut()
        await consumer.settled()
      }
      assert.deepEqual(await database.effects(), ['a', 'b', 'c'])
      assert.deepEqual(consumer.process.tally.outcomes, { duplicate: 3 })
      assert.deepEqual(await database.attempts(), [])
      await proxy.close()
    })

    test('wait for an unavailable database, and the consumer continues automatically', async () => {
      await using database = await openEffects()
      const proxy = await startProxyFor(database.url)
      await using consumer = await startConsumer(proxy.through(database.url), library)
      consumer.publish('before')
      await consumer.settled()
      proxy.refuse()
      proxy.cut()
      const during = Array.from({ length: 30 }, (_, n) => `during-${n}`)
      consumer.publish(...during)
      await until('the consumer notices', () => consumer.process.tally.storeUnavailable)
      assert.equal(consumer.queue.unsettled, 30)
      proxy.accept()
      await consumer.settled()
      assert.deepEqual(await database.effects(), ['before', ...during].sort())
      assert.deepEqual(await database.attempts(), [])
      await proxy.close()
    })

    for (const isolation of ['read committed', 'repeatable read', 'serializable'] as const) {
      test(`happen under ${isolation}, with bounded waits that end with the transaction`, async () => {
        await using database = await openEffects()
        const settings = `current_setting('transaction_isolation') || ' ' || current_setting('lock_timeout')
          || ' ' || current_setting('idle_in_transaction_session_timeout') || ' ' || current_setting('statement_timeout')`
        await using left = await startConsumer(
          database.url,
          library,
          {
            name: 'isolated',
            async handle({ message, tx }) {
              await library.send(tx, `insert into effect (key) select '${message.id} ' || ${settings}`)
            },
          },
          { isolation, lockTimeoutMs: 1_234 },
        )
        left.publish('a', 'b')
        await left.settled()
        const inside = `${isolation} 1234ms 15s 15s`
        assert.deepEqual(await database.effects(), [`a ${inside}`, `b ${inside}`])
        const after = `select current_setting('lock_timeout') || current_setting('idle_in_transaction_session_timeout')
          || current_setting('statement_timeout') || current_setting('onceward.run', true) as left`
        assert.deepEqual((await left.store.sql!.query(after)).rows, [{ left: '000' }])
      })
    }

    test('have one effect when two processes race for the same messages', async () => {
      await using database = await openEffects()
      await using left = await startConsumer(database.url, library, { name: 'racing' })
      await using right = await startConsumer(database.url, library, { name: 'racing' })
      const ids = Array.from({ length: 100 }, (_, n) => `m${n}`)
      left.publish(...ids)
      right.publish(...ids.toReversed())
      await Promise.all([left.settled(), right.settled()])
      assert.deepEqual(await database.effects(), ids.toSorted())
      assert.deepEqual(await database.attempts(), [])
    })

    test('hold through PgBouncer in transaction mode', async t => {
      await using database = await openEffects()
      const bouncer = await ensurePgbouncer(database.url)
      if ('unavailable' in bouncer) return t.skip(bouncer.unavailable)
      await using left = await startConsumer(bouncer.url, library, { name: 'bounced' })
      await using right = await startConsumer(bouncer.url, library, { name: 'bounced' })
      const ids = Array.from({ length: 200 }, (_, n) => `m${n}`)
      left.publish(...ids)
      right.publish(...ids)
      await Promise.all([left.settled(), right.settled()])
      assert.deepEqual(await database.effects(), ids.toSorted())
    })
  })
}
