import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ConsumerContract, defineConsumer, runConsumer, type SqlTransaction } from 'onceward'
import { createPool, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { Gateway } from '../effects/gateway.ts'
import { startProxyFor } from '../proxy/tcp-proxy.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

/** Apart enough that what is over in one deadline and a second is never taken for what takes two. */
const deadlineMs = 6_000
const bound = 2 * deadlineMs - 500

describe('draining a running consumer', await skipWithout('postgres'), () => {
  test('a database that no longer answers is not waited for past the deadline', async () => {
    await using env = await openEnvironment()
    const running = await env.run({ handle: () => env.handled() })
    await env.publish('first')
    await until('it is handled', () => env.count === 1)
    env.proxy.pause()
    const tookMs = await timed(() => running.drain(deadlineMs))
    // A timer may come a moment early.
    assert.ok(tookMs >= deadlineMs - 20, `it waited only ${tookMs} ms`)
    assert.ok(tookMs < bound, `it took ${tookMs} ms`)
  })

  test('a handler, a call and the rest share one deadline', async () => {
    await using env = await openEnvironment()
    env.gateway.plan('k', 'hold, then charge')
    const running = await env.run({
      effect: { external: { gateway: { url: env.gateway.url, allowPrivate: true, timeoutMs: 60_000 } } },
      handle({ message, effects }) {
        env.handled()
        if (message.id !== 'first') return new Promise<undefined>(() => {})
        effects.external('gateway', { key: 'k', body: {} })
        return undefined
      },
      batch: { handlerTimeoutMs: 60_000 },
    })
    await env.publish('first')
    await until('the call is in flight', () => env.gateway.callsFor('k').length === 1)
    await env.publish('second')
    await until('the handler hangs', () => env.count === 2)
    const tookMs = await timed(() => running.drain(deadlineMs))
    assert.ok(tookMs < bound, `it took ${tookMs} ms`)
  })

  test('a part that halts is reported to the caller that waits for the end, and to no other', async t => {
    await using env = await openEnvironment()
    const unheard: unknown[] = []
    const hear = (reason: unknown) => void unheard.push(reason)
    process.on('unhandledRejection', hear)
    t.after(() => process.off('unhandledRejection', hear))
    const running = await env.run({
      effect: { external: { gateway: { url: env.gateway.url, allowPrivate: true } } },
      handle: () => env.handled(),
    })
    await env.query('alter table onceward.ledger rename to elsewhere')
    await assert.rejects(running.finished, { code: '42P01' })
    await new Promise(resolve => setImmediate(resolve))
    assert.deepEqual(unheard, [])
  })

  test('with no work in progress it ends long before', async () => {
    await using env = await openEnvironment()
    const running = await env.run({ handle: () => env.handled() })
    assert.ok((await timed(() => running.drain(60_000))) < 30_000)
    await running.finished
  })
})

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

interface Note {
  id: string
}

async function openEnvironment() {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 2 })
  await migrate(pool)
  const proxy = await startProxyFor(database.url)
  const gateway = await new Gateway().open()
  const env = {
    proxy,
    gateway,
    count: 0,
    handled: () => void env.count++,
    query: (text: string) => pool.query(text),
    publish: (id: string) => publish(pool, 'notes', [{ body: JSON.stringify({ id }) }]),
    run: (changes: Partial<ConsumerContract<Note, SqlTransaction>>) =>
      runConsumer(
        defineConsumer<Note, SqlTransaction>({
          name: 'notes',
          owner: 'tests',
          risk: 'low value',
          source: postgresQueue('notes'),
          identity: { id: m => m.id },
          ...changes,
        } as ConsumerContract<Note, SqlTransaction>),
        { databaseUrl: proxy.through(database.url) },
      ),
    async [Symbol.asyncDispose]() {
      gateway.close()
      await proxy.close()
      await pool.end()
      await database.drop()
    },
  }
  return env
}
