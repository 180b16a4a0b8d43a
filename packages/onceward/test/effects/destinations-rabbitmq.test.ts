import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { defineConsumer, reject, runConsumer, type SqlTransaction } from 'onceward'
import { runRelay } from 'onceward/outbox'
import { queue } from 'onceward/rabbitmq'
import { until } from 'onceward/testing'
import { errorCode } from '../../src/errors.ts'
import { readStatus } from '../../src/telemetry/read-status.ts'
import { createVirtualHost, quorum, type TestVirtualHost } from '../rabbitmq/virtual-host.ts'
import { skipWithout } from '../services/services.ts'
import { openScene, type Scene } from './scene.ts'

const count = 40

interface Tenant {
  readonly name: string
  readonly host: TestVirtualHost
  readonly queue: string
  readonly seen: string[]
}

describe('two virtual hosts, one database', await skipWithout('postgres', 'rabbitmq'), () => {
  for (const names of ['equal', 'different'] as const)
    it(`retries, dead letters and messages stay in their virtual host; queue names are ${names}`, async t => {
      const { scene, ends } = await open(t)
      await scene.pool.query('create table effect (tenant text, id text)')
      const tenants = await Promise.all([
        openTenant(t, 'tenant_a', 'work'),
        openTenant(t, 'tenant_b', names === 'equal' ? 'work' : 'other'),
      ])
      for (const tenant of tenants) await run(ends, scene, tenant)
      const beside = await runRelay({
        databaseUrl: scene.url,
        rabbitmqUrl: tenants[0]!.host.url,
        brokers: ['rabbitmq'],
      })
      ends.push(() => beside.drain())
      for (const tenant of tenants) await send(tenant)
      const applied = ids(count).filter(n => n % 10 !== 9)
      await until(
        'all are applied',
        async () => {
          const { rows } = await scene.pool.query('select count(*)::int as n from effect')
          return rows[0].n >= 2 * applied.length
        },
        { deadlineMs: 60_000 },
      )
      await until(
        'the outbox is empty',
        async () => {
          const { rows } = await scene.pool.query('select count(*)::int as n from onceward.outbox')
          return rows[0].n === 0
        },
        { deadlineMs: 60_000 },
      )
      for (const { name, host, queue: work, seen } of tenants) {
        const own = (n: number) => `${name}-${n}`
        const { rows } = await scene.pool.query('select id from effect where tenant = $1 order by id', [name])
        assert.deepEqual(rows.map(({ id }) => id).sort(), applied.map(own).sort())
        assert.deepEqual([...new Set(seen)].sort(), ids(count).map(own).sort())
        assert.deepEqual((await idsIn(host, `${work}.out`)).sort(), applied.map(own).sort())
        const dead = ids(count).filter(n => n % 10 === 9)
        assert.deepEqual((await idsIn(host, `${work}.dead`)).sort(), dead.map(own).sort())
      }
      const { relays, outbox } = await readStatus(scene.pool)
      assert.equal(new Set(relays.map(({ destination }) => destination)).size, 2)
      assert.deepEqual(outbox, [])
    })

  it('a relay whose login is refused ends with that error, without waiting for others', async t => {
    const { scene, ends } = await open(t)
    const { url } = await createVirtualHost(t)
    const refused = new URL(url)
    refused.password = 'not-the-password'
    const missing = new URL(url)
    missing.pathname = '/no-such-virtual-host'
    for (const [address, why] of [
      [refused.href, /refused the user name or password/],
      [missing.href, /it does not exist, or this user has no access to it/],
    ] as const) {
      const options = { databaseUrl: scene.url, rabbitmqUrl: address, startTimeoutMs: 10_000 }
      const relay = await runRelay({ ...options, brokers: ['rabbitmq', 'postgres'] })
      ends.push(() => relay.drain(1_000).catch(() => {}))
      const ended: { error?: unknown } = {}
      relay.finished.catch(error => Object.assign(ended, { error }))
      await until('it has ended', () => 'error' in ended)
      const { error } = ended
      assert.equal(errorCode(error), 'configuration')
      assert.match(String(error), why)
      assert.doesNotMatch(String(error), /not-the-password/)
      assert.equal(relay.health().ready, false)
    }
  })

  it('rows of a virtual host without a relay are counted as such, and are published when one starts', async t => {
    const { scene, ends } = await open(t)
    await scene.pool.query('create table effect (tenant text, id text)')
    const tenant = await openTenant(t, 'tenant_a', 'work')
    const other = await openTenant(t, 'tenant_b', 'work')
    await run(ends, scene, tenant, ['consumer'])
    await run(ends, scene, other)
    tenant.host.channel.sendToQueue('work', Buffer.from(JSON.stringify({ id: 'tenant_a-2' })))
    const waiting = () => scene.pool.query('select destination, waiting from onceward.outbox_unserved')
    await until('it is counted', async () => (await waiting()).rows[0]?.waiting === 1)
    const { outbox } = await readStatus(scene.pool)
    assert.deepEqual(
      outbox.map(({ destination, served }) => [destination.endsWith(`/${tenant.host.name}`), served]),
      [[true, false]],
    )
    const relay = await runRelay({
      databaseUrl: scene.url,
      rabbitmqUrl: tenant.host.url,
      brokers: ['rabbitmq'],
    })
    ends.push(() => relay.drain())
    await until(
      'it is out',
      async () => (await scene.pool.query('select from onceward.outbox')).rows.length === 0,
    )
    assert.deepEqual((await waiting()).rows, [])
    assert.equal(await other.host.depth('work.out'), 0)
  })
})

type Ends = (() => Promise<unknown>)[]

/** What is started last ends first, before the database and the virtual hosts are gone. */
async function open(t: TestContext): Promise<{ scene: Scene; ends: Ends }> {
  const scene = await openScene()
  const ends: Ends = []
  t.after(async () => {
    for (const end of ends.reverse()) await end()
    await scene.close()
  })
  return { scene, ends }
}

async function openTenant(t: TestContext, name: string, work: string): Promise<Tenant> {
  const host = await createVirtualHost(t)
  for (const one of [work, `${work}.out`]) await host.channel.assertQueue(one, quorum)
  return { name, host, queue: work, seen: [] }
}

/** Odd ones fail once, each tenth is refused, the others are applied and published. */
async function run(
  ends: Ends,
  scene: Scene,
  { name, host, queue: work, seen }: Tenant,
  parts?: readonly 'consumer'[],
): Promise<void> {
  const consumer = defineConsumer<{ id: string }, SqlTransaction, never, 'out'>({
    name,
    owner: 'tests',
    risk: 'money',
    source: queue(work),
    identity: { id: m => m.id },
    failure: {
      mode: 'retry queue',
      delayMs: 100,
      delayMaxMs: 200,
      deadLetter: `${work}.dead`,
      breaker: false,
    },
    effect: { publish: { out: { broker: 'rabbitmq', queue: `${work}.out` } } },
    async handle({ message, tx, effects }) {
      const again = seen.includes(message.id)
      seen.push(message.id)
      const n = Number(message.id.split('-')[1])
      if (n % 10 === 9) return reject('every tenth is refused')
      if (n % 2 === 1 && !again) throw new Error('not yet')
      await tx.query('insert into effect values ($1, $2)', [name, message.id])
      effects.publish('out', { body: { id: message.id } })
      return undefined
    },
  })
  const running = await runConsumer(consumer, {
    databaseUrl: scene.url,
    rabbitmqUrl: host.url,
    ...(parts && { parts }),
  })
  ends.push(() => running.drain())
}

async function send({ name, host, queue: work }: Tenant): Promise<void> {
  for (const n of ids(count))
    host.channel.sendToQueue(work, Buffer.from(JSON.stringify({ id: `${name}-${n}` })))
  await host.channel.waitForConfirms()
}

const ids = (length: number) => Array.from({ length }, (_, n) => n)

async function idsIn(host: TestVirtualHost, name: string): Promise<string[]> {
  return [...new Set((await host.takeAll(name)).map(body => (JSON.parse(body) as { id: string }).id))]
}
