import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type CallOutcome,
  type CustomTarget,
  defineConsumer,
  realEnvironment,
  runConsumer,
  type SqlTransaction,
} from 'onceward'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { createDatabase, skipWithout } from '../../services/services.ts'
import { startSinks } from './sink-server.ts'

interface Case {
  readonly id: string
  readonly version: number
  readonly state: string
}

const versions = 6
const facts = ['c1', 'c2', 'c3'].flatMap(id =>
  Array.from({ length: versions }, (_, n): Case => ({ id, version: n + 1, state: `state ${n + 1}` })),
)

describe('a search index, an object store and a cache', await skipWithout('postgres'), () => {
  test('end with the newest version of each, also when calls are repeated late and out of order', async t => {
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 3 })
    const sinks = await startSinks()
    t.after(async () => {
      await sinks.close()
      await pool.end()
      await database.drop()
    })
    await migrate(pool)
    await createQueue(pool, 'cases')

    const judged = (status: number, fine: readonly number[]): CallOutcome =>
      status < 300 || fine.includes(status)
        ? { result: 'completed', note: `answered ${status}` }
        : { result: status < 500 ? 'failed' : 'unknown' }
    const target = (call: CustomTarget['call']): CustomTarget => ({
      ...{ kind: 'custom', policy: 'keyed', call },
      ...{ concurrencyMax: 8, retryDelayMs: 300, retryDelayMaxMs: 400 },
    })
    /** 409: the index holds a newer version already. */
    const index = target(async ({ body }, { signal }) => {
      const { id, version } = JSON.parse(Buffer.from(body).toString()) as Case
      const url = `${sinks.url}/index/${id}?version=${version}&version_type=external`
      const { status } = await fetch(url, { method: 'PUT', body: Buffer.from(body), signal })
      return judged(status, [409])
    })
    /** 412: an earlier attempt has written the object. */
    const objects = target(async ({ key, body }, { signal }) => {
      const headers = { 'if-none-match': '*' }
      const init = { method: 'PUT', body: Buffer.from(body), headers, signal }
      return judged((await fetch(`${sinks.url}/objects/${key}`, init)).status, [412])
    })
    const cache = target(async ({ body }, { signal }) => {
      const { id } = JSON.parse(Buffer.from(body).toString()) as Case
      return judged((await fetch(`${sinks.url}/cache/${id}`, { method: 'DELETE', signal })).status, [404])
    })
    const consumer = defineConsumer<Case, SqlTransaction, string>({
      name: 'sinks',
      owner: 'search',
      risk: 'projection',
      source: postgresQueue('cases'),
      identity: { id: m => `${m.id}-${m.version}` },
      effect: { external: { index, objects, cache } },
      handle({ message, envelope, effects }) {
        for (const name of ['index', 'objects', 'cache'])
          effects.external(name, { key: envelope.id, body: message })
      },
    })
    for (const id of ['c1', 'c2', 'c3']) {
      sinks.cache.set(id, 'rendered before')
      // The answers to the first versions are lost: they are repeated after later versions are there.
      sinks.lost.add(`/index/${id}?version=1&version_type=external`).add(`/objects/${id}-1`)
      sinks.lost.add(`/cache/${id}`)
    }
    const running = await runConsumer(consumer, { databaseUrl: database.url, env: realEnvironment() })
    t.after(() => running.drain(5_000).catch(() => {}))
    await publish(
      pool,
      'cases',
      [...facts, ...facts].map(body => ({ body })),
    )
    const states = async () =>
      (
        await pool.query(
          'select target, state::text, count(*)::int from onceward.ledger group by 1, 2 order by 1, 2',
        )
      ).rows
    const done = ['cache', 'index', 'objects'].map(name => ({
      ...{ target: name, state: 'completed', count: facts.length },
    }))
    await until(
      'every effect is complete',
      async () => {
        const found = await states()
        return (
          found.length === 3 && found.every(row => row.state === 'completed' && row.count === facts.length)
        )
      },
      { deadlineMs: 60_000 },
    )
    assert.deepEqual(await states(), done)
    for (const id of ['c1', 'c2', 'c3']) {
      const { version, body } = sinks.documents.get(id)!
      assert.deepEqual([version, JSON.parse(body).state], [versions, `state ${versions}`], id)
      const repeats = sinks.writes.filter(({ path }) => path.startsWith(`/index/${id}?version=1&`))
      assert.equal(repeats.at(-1)!.status, 409, 'its repeat came late and was refused by the index')
    }
    assert.equal(sinks.objects.size, facts.length, 'one object for each message')
    assert.equal(
      sinks.writes.filter(({ status }) => status === 412).length,
      3,
      'a repeat writes no second one',
    )
    assert.equal(sinks.cache.size, 0)
    assert.equal(sinks.lost.size, 0, 'every planned answer was lost')
  })
})
