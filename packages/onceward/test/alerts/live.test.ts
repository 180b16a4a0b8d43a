import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type Consumer, defineConsumer, realEnvironment, runConsumer } from 'onceward'
import { file } from 'onceward/file'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { startObserveServer } from '../../src/runtime/observe-server.ts'
import { alertRules } from '../../src/telemetry/alerts/alert-rules.ts'
import { dashboard, relayDashboard } from '../../src/telemetry/alerts/dashboard.ts'
import { objectiveSeries } from '../../src/telemetry/alerts/objective-rules.ts'
import { relayRules } from '../../src/telemetry/alerts/relay-rules.ts'
import { Scraped, scrape } from '../observe/scraped.ts'
import { createDatabase, skipWithout } from '../services/services.ts'
import { everything } from './declared.ts'
import { exportedNames, selectorsOf } from './selectors.ts'
import { openTrouble } from './staged-trouble.ts'

/** Metrics of alerts and dashboards that other tests stage: test/failure/brake and redelivery. */
const notStaged: readonly string[] = [
  'onceward_consumer_braked',
  'onceward_consumer_repeated_deliveries_total',
]

/** Metrics that no alert and no panel asks for, and what stages them on real servers in other tests. */
const elsewhere: Readonly<Record<string, string>> = {
  onceward_consumer_brakes_total: 'test/failure/brake breaks handlers',
  onceward_consumer_crash_suspects_total: 'test/poison kills processes',
  onceward_work_lost_leases_total: 'test/inbox/lease takes leases from workers',
  onceward_consumer_parked_crash_suspects_total: 'test/poison kills processes',
  onceward_consumer_replayed_messages_total: 'test/replay runs campaigns',
  onceward_external_suppressed_effects_total: 'test/replay/inline-calls runs campaigns with calls',
  onceward_outbox_suppressed_messages_total: 'test/effects/publish publishes in another mode',
  onceward_replay_campaigns: 'test/replay runs campaigns',
  onceward_replay_progress_ratio: 'test/replay runs campaigns',
}

const orders = defineConsumer<{ do: string }>({
  name: 'orders',
  owner: 'shop',
  risk: 'money',
  source: postgresQueue('orders'),
  identity: { id: { property: 'messageId' } },
  inbox: { mode: 'stored' },
  failure: { attemptsMax: 2, delayMs: 1, delayMaxMs: 1, breaker: false },
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
  handle({ message, effects, envelope }) {
    if (message.do === 'fail') throw new Error('always')
    if (message.do === 'call') effects.external('gateway', { key: envelope.id, body: {} })
    if (message.do === 'send') effects.publish('out', { body: {} })
  },
})

const message = (messageId: string, body: string) => ({ messageId, body, properties: { messageId } })
const arrivals = [
  message('1', '{"do":"nothing"}'),
  message('1', '{"do":"nothing"}'),
  message('1', '{"do":"something else"}'),
  message('2', '{"do":"fail"}'),
  message('3', '{"do":"call"}'),
  message('4', '{"do":"send"}'),
  message('5', 'no JSON'),
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
  test('exports every name and label that alerts and dashboard ask for', async t => {
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
      handle: () => {},
    })
    const trouble = await openTrouble(t, pool, () => scrape(server.url))
    try {
      await migrate(pool)
      for (const name of ['orders', 'out', ...trouble.queues]) await createQueue(pool, name)
      await pool.query(trouble.tables)
      await publish(pool, 'orders', arrivals)
      writeFileSync(join(folder, 'lines.jsonl'), '{}\n{}\n')
      const env = realEnvironment({ meter: server.meter })
      const options = { databaseUrl: database.url, env, ...trouble.addresses }
      const running = await Promise.all(
        [orders, lines, ...trouble.consumers].map(one => runConsumer(one as Consumer, options)),
      )
      await trouble.cause()
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
      for (const name of Object.keys(elsewhere)) assert.ok(!asked.has(name), name)
      const due = [...exportedNames.keys()].filter(
        name => !notStaged.includes(name) && !Object.hasOwn(elsewhere, name),
      )
      let page = ''
      const missing = () => due.filter(name => !exportedBy(page).has(name))
      const quiet = () => trouble.seen.filter(([name, labels]) => !(new Scraped(page).sum(name, labels) > 0))
      await until(
        'every name is exported, and every trouble is above zero',
        async () => {
          page = await (await fetch(`${server.url}/metrics`)).text()
          return missing().length === 0 && quiet().length === 0
        },
        { deadlineMs: 90_000 },
      ).catch(() => assert.deepEqual([missing(), quiet()], [[], []]))
      const exported = exportedBy(page)
      for (const [name, labels] of asked)
        if (!notStaged.includes(name))
          for (const label of labels) assert.ok(exported.get(name)?.has(label), `${name} has no ${label}`)
      await Promise.all(running.map(one => one.drain(5_000)))
    } finally {
      await server.close()
      await pool.end()
      await database.drop()
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

const relay = { owner: 'shop', brokers: ['postgres'], outboxAgeMaxMs: 60_000 }
