import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { realEnvironment } from 'onceward'
import { createPool, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { startObserveServer } from '../../src/runtime/observe-server.ts'
import { catalogue, prometheusName } from '../../src/telemetry/catalogue.ts'
import { createDatabase, skipWithout } from '../services/services.ts'
import { Scraped } from '../telemetry/scraped.ts'
import { fireOn } from './live-series.ts'
import { withPromtool } from './run-promtool.ts'
import { backlogAlerts, openBacklog } from './staged-backlog.ts'

describe('messages that wait', await skipWithout('postgres', 'rabbitmq', 'kafka'), () => {
  test('fire the alert of each cause, and none before', { ...withPromtool, timeout: 300_000 }, async t => {
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 4 })
    const server = await startObserveServer({ host: '127.0.0.1', port: 0 })
    t.after(async () => {
      await server.close()
      await pool.end()
      await database.drop()
    })
    await migrate(pool)
    const env = realEnvironment({ meter: server.meter })
    const backlog = await openBacklog(t, pool, { databaseUrl: database.url, env, gaugesMaxAgeMs: 1_000 })
    const page = async () => (await fetch(`${server.url}/metrics`)).text()
    const below = (text: string) =>
      backlog.seen.filter(([name, labels, least]) => !(new Scraped(text).sum(name, labels) >= least))
    const untilSeen = async (what: string, enough: (text: string) => boolean) => {
      let text = ''
      const isEnough = async () => {
        text = await page()
        return enough(text)
      }
      await until(what, isEnough, { deadlineMs: 120_000 }).catch(() => assert.deepEqual(below(text), []))
      return text
    }
    await backlog.begin()
    const first = await untilSeen(
      'a record is applied, and nothing waits',
      text => new Scraped(text).sum('messaging_client_consumed_messages_total', { consumer: 'lags' }) === 1,
    )
    assert.deepEqual(below(first), backlog.seen, 'nothing waits yet')
    await backlog.cause()
    const last = await untilSeen('everything waits', text => below(text).length === 0)
    const declared = backlog.consumers.map(consumer => ({ consumer, file: 'live.ts' }))
    const growing = [prometheusName(catalogue.lag)]
    const { status, output } = fireOn(first, last, declared, backlogAlerts, growing)
    assert.equal(status, 0, output)
    const before = fireOn(first, first, declared, backlogAlerts)
    for (const name of backlogAlerts)
      assert.match(before.output, new RegExp(name), 'it fires without a cause')
  })
})
