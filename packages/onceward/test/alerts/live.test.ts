import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import {
  type Consumer,
  defineConsumer,
  park,
  quarantine,
  realEnvironment,
  runConsumer,
  type SqlTransaction,
} from 'onceward'
import { file } from 'onceward/file'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { startObserveServer } from '../../src/runtime/observe-server.ts'
import { alertRules } from '../../src/telemetry/alerts/alert-rules.ts'
import { alerts } from '../../src/telemetry/alerts/alerts.ts'
import { dashboard, relayDashboard } from '../../src/telemetry/alerts/dashboard.ts'
import { objectiveSeries } from '../../src/telemetry/alerts/objective-rules.ts'
import { relayRules } from '../../src/telemetry/alerts/relay-rules.ts'
import { createDatabase, skipWithout } from '../services/services.ts'
import { Scraped, scrape } from '../telemetry/scraped.ts'
import { everything } from './declared.ts'
import { fireOn } from './live-series.ts'
import { withPromtool } from './run-promtool.ts'
import { exportedNames, selectorsOf } from './selectors.ts'
import { backlogAlerts } from './staged-backlog.ts'
import { stageCampaign } from './staged-campaign.ts'
import { stageDeaths } from './staged-deaths.ts'
import { healthySeen } from './staged-healthy.ts'
import { openTrouble } from './staged-trouble.ts'

let tries = 0
const orders = defineConsumer<{ do: string }, SqlTransaction, 'gateway', 'out'>({
  name: 'orders',
  owner: 'shop',
  risk: 'money',
  source: postgresQueue('orders'),
  identity: { id: { property: 'messageId' } },
  inbox: { mode: 'stored' },
  failure: { attemptsMax: 2, delayMs: 1, delayMaxMs: 1, breaker: false },
  objectives: { lagMax: '1s', setAsideAgeMax: '1s', applyP99Max: '1ms' },
  effect: {
    external: {
      gateway: {
        kind: 'custom',
        policy: 'at most once',
        call: async () => ({ result: 'unknown' as const }),
      },
    },
    publish: { out: { broker: 'postgres', queue: 'out' } },
  },
  async handle({ message, tx, effects, envelope }) {
    if (message.do === 'wait') await tx.query('select pg_sleep(0.05)')
    if (message.do === 'fail') throw new Error('always')
    if (message.do === 'vary') throw Object.assign(new Error('each time another'), { code: `E${++tries}` })
    if (message.do === 'corrupt') throw Object.assign(new Error('corrupt'), { code: 'effect_conflict' })
    if (message.do === 'park') return park('a person decides')
    if (message.do === 'quarantine') return quarantine('look at it')
    if (message.do === 'call') effects.external('gateway', { key: envelope.id, body: {} })
    if (message.do === 'send') effects.publish('out', { body: {} })
  },
})

const message = (messageId: string, body: string) => ({ messageId, body, properties: { messageId } })
const arrivals = [
  message('1', '{"do":"nothing"}'),
  message('1', '{"do":"nothing"}'),
  ...Array.from({ length: 30 }, () => message('1', '{"do":"nothing"}')),
  message('1', '{"do":"something else"}'),
  message('2', '{"do":"fail"}'),
  message('3', '{"do":"call"}'),
  message('4', '{"do":"send"}'),
  message('5', 'no JSON'),
  message('6', '{"do":"vary"}'),
  message('7', '{"do":"corrupt"}'),
  message('8', '{"do":"park"}'),
  message('9', '{"do":"quarantine"}'),
  message('10', '{"do":"wait"}'),
]

/** Names of the page with the labels their series really have. */
function exportedBy(page: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const line of page.split('\n')) {
    const [, name, labels] = /^([a-zA-Z_:][\w:]*)\{(.*)\} \S+$/.exec(line) ?? []
    if (name === undefined) continue
    const known = found.get(name) ?? new Set()
    found.set(name, known)
    for (const [, label] of labels!.matchAll(/([a-zA-Z_]\w*)="(?:[^"\\]|\\.)*"/g)) known.add(label!)
  }
  return found
}

describe('a live run', await skipWithout('postgres', 'rabbitmq', 'kafka'), () => {
  test('exports every metric, with every label that alerts and the dashboard query', async t => {
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 4 })
    const folder = mkdtempSync(join(tmpdir(), 'onceward-live-'))
    const server = await startObserveServer({ host: '127.0.0.1', port: 0 })
    const lines = defineConsumer({
      name: 'lines',
      owner: 'shop',
      risk: 'projection',
      source: file(join(folder, 'lines.jsonl')),
      identity: { id: 'position' },
      objectives: { idleMax: '5s' },
      handle: () => {},
    })
    const trouble = await openTrouble(t, pool, () => scrape(server.url))
    try {
      await migrate(pool)
      for (const name of ['orders', 'out', ...trouble.queues]) await createQueue(pool, name)
      await pool.query(trouble.tables)
      writeFileSync(join(folder, 'lines.jsonl'), '{}\n{}\n')
      const env = realEnvironment({ meter: server.meter })
      const options = { databaseUrl: database.url, env, ...trouble.addresses }
      const running = await Promise.all(
        [orders, lines, ...trouble.consumers].map(one => runConsumer(one as Consumer, options)),
      )
      let first = ''
      await until('the source that falls silent has been read', async () => {
        first = await pageOf(server.url)
        return new Scraped(first).sum('messaging_client_consumed_messages_total', { consumer: 'lines' }) === 2
      })
      await publish(pool, 'orders', arrivals)
      const deaths = await stageDeaths(t, env)
      const campaign = await stageCampaign(t, env)
      await trouble.cause()
      const staged = [...healthySeen, ...trouble.seen, ...deaths.seen, ...campaign.seen]
      const asked = new Map(
        [
          ...[...alertRules([everything]), relayRules(relay)].flatMap(({ rules }) =>
            rules.map(rule => rule.expr),
          ),
          ...[dashboard([everything]), relayDashboard()].flatMap(({ panels }) =>
            panels.flatMap(panel => ('targets' in panel ? panel.targets.map(target => target.expr) : [])),
          ),
        ]
          .flatMap(selectorsOf)
          .filter(({ name }) => name !== objectiveSeries)
          .map(({ name, labels }) => [name, labels]),
      )
      const due = [...exportedNames.keys()]
      let page = ''
      const missing = () => due.filter(name => !exportedBy(page).has(name))
      const quiet = () => staged.filter(([name, labels]) => !(new Scraped(page).sum(name, labels) > 0))
      await until(
        'every name is exported, and every trouble is above zero',
        async () => {
          page = await pageOf(server.url)
          return missing().length === 0 && quiet().length === 0
        },
        { deadlineMs: 90_000 },
      ).catch(async () => {
        await campaign.close()
        assert.deepEqual([missing(), quiet()], [[], []])
      })
      const exported = exportedBy(page)
      for (const [name, labels] of asked)
        for (const label of labels) assert.ok(exported.get(name)?.has(label), `${name} has no ${label}`)
      if (withPromtool.skip === undefined) {
        const declared = [orders, lines, neverStarted, ...trouble.consumers].map(consumer => ({
          consumer: consumer as Consumer,
          file: 'live.ts',
        }))
        let fired = fireOn(first, page, declared, firesLive)
        const everyAlertFires = async () => {
          if (fired.status !== 0) fired = fireOn(first, await pageOf(server.url), declared, firesLive)
          return fired.status === 0
        }
        await until('what waits is old enough for every alert', everyAlertFires).catch(() =>
          assert.equal(fired.status, 0, fired.output),
        )
      }
      await campaign.close()
      await Promise.all(running.map(one => one.drain(5_000)))
    } finally {
      await server.close()
      await pool.end()
      await database.drop()
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

const pageOf = async (url: string) => (await fetch(`${url}/metrics`)).text()

const neverStarted = defineConsumer({
  ...{ name: 'never_started', owner: 'shop', risk: 'money', handle: () => {} },
  source: postgresQueue('never_started'),
  identity: { id: { property: 'messageId' } },
})

/** The others fire in live-backlog.extended.test.ts: one of them takes half a minute. */
const firesLive = alerts
  .map(({ name }) => name)
  .filter(name => !(backlogAlerts as readonly string[]).includes(name))

const relay = { owner: 'shop', brokers: ['postgres'], outboxAgeMaxMs: 60_000 }
