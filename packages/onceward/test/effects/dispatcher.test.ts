import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { ExternalTarget } from '../../src/contract/contract.ts'
import {
  createDispatcher,
  type Dispatcher,
  type DispatcherOptions,
} from '../../src/effects/external/dispatcher.ts'
import { bytesDigest } from '../../src/message/digest.ts'
import { realSurroundings } from '../../src/runtime/real-surroundings.ts'
import { createPool } from '../../src/stores/postgres/pool.ts'
import type { Log, Timers } from '../../src/surroundings.ts'
import { startProxyFor } from '../proxy/tcp-proxy.ts'
import { skipWithout } from '../services/services.ts'
import { type Behaviour, Gateway } from './gateway.ts'
import { interruptible, openScene, type Scene, until } from './scene.ts'

/** Calls that get an answer have ample time for it, even on a busy machine; only those that get none are cut short. */
const quick = { timeoutMs: 6_000, retryDelayMs: 1, retryDelayMaxMs: 20 }
const impatient = { timeoutMs: 800 }

describe('dispatcher', await skipWithout('postgres'), () => {
  let scene: Scene
  let gateway: Gateway
  let consumers = 0
  const started: Dispatcher[] = []
  const gateways: Gateway[] = []

  before(async () => {
    scene = await openScene()
    gateway = await new Gateway().open()
    gateways.push(gateway)
  })
  after(async () => {
    for (const dispatcher of started) dispatcher.leave()
    for (const one of gateways) one.close()
    await scene.close()
  })

  const nextConsumer = () => `payments_${++consumers}`

  async function start(
    consumerName: string,
    target: Partial<ExternalTarget> = {},
    options: Partial<DispatcherOptions> = {},
  ): Promise<Dispatcher> {
    const dispatcher = createDispatcher({
      pool: scene.pool,
      targets: { gateway: { url: gateway.url, ...quick, ...target } },
      consumerName,
      world: realSurroundings(),
      instance: 'test',
      leaseMs: 8_000,
      ...options,
    })
    started.push(dispatcher)
    await dispatcher.start()
    return dispatcher
  }

  /** Lets one intent meet these behaviours until no dispatcher takes it again by itself. */
  async function settle(target: Partial<ExternalTarget>, ...behaviours: Behaviour[]) {
    const consumer = nextConsumer()
    const key = `${consumer}-key`
    gateway.plan(key, ...behaviours)
    await scene.intend(consumer, [key])
    const dispatcher = await start(consumer, target)
    await until(`${key} settles`, async () => (await scene.row(consumer, key)).due === 'infinity')
    await dispatcher.drain()
    const calls = gateway.callsFor(key)
    assert.ok(
      calls.every(call => call.body === calls[0]?.body),
      'the same bytes every time',
    )
    return { row: await scene.row(consumer, key), calls, charged: gateway.charges.has(key), dispatcher }
  }

  it('calls once with the stored key, bytes and content type, and keeps the digest of the answer', async () => {
    const { row, calls, charged } = await settle({})
    assert.equal(charged, true)
    assert.deepEqual(
      [row.state, row.attempts, row.response_status, row.completed],
      ['completed', 1, 200, true],
    )
    assert.deepEqual(row.response_digest, bytesDigest(Buffer.from('{"charged":true}')))
    assert.equal(calls.length, 1)
    assert.equal(calls[0]!.contentType, 'application/json')
    assert.match(Buffer.from(calls[0]!.body, 'hex').toString(), /^\{"capture":"payments_\d+-key"\}$/)
  })

  for (const { behaviour, target } of [
    { behaviour: 'charge, never answer', target: impatient },
    { behaviour: 'charge, then drip', target: impatient },
    { behaviour: 'charge, then 500', target: {} },
    { behaviour: 'charge, then reset', target: {} },
  ] as const) {
    it(`repeats under the same key after "${behaviour}", and one charge is made`, async () => {
      const { row, calls, dispatcher } = await settle(target, behaviour)
      assert.equal(row.state, 'completed')
      assert.ok(
        calls.length >= 2 && calls.length === row.attempts,
        `${calls.length} calls, ${row.attempts} attempts`,
      )
      assert.deepEqual(dispatcher.tally.results, { unknown: row.attempts - 1, completed: 1 })
    })

    it(`lists it as unknown when "${behaviour}" uses up the attempts`, async () => {
      const { row, calls, charged } = await settle(
        { ...target, attemptsMax: 2 },
        behaviour,
        behaviour,
        behaviour,
      )
      assert.deepEqual([row.state, row.attempts, calls.length, charged], ['unknown', 2, 2, true])
    })
  }

  for (const status of [408, 409, 425, 429, 503]) {
    it(`waits and repeats after ${status}`, async () => {
      const { row, dispatcher } = await settle({}, { status })
      assert.deepEqual([row.state, row.attempts], ['completed', 2])
      assert.deepEqual(dispatcher.tally.results, { retryable: 1, completed: 1 })
    })
  }

  it('fails for people when turned away as often as it may try', async () => {
    const { row, calls, charged } = await settle(
      { attemptsMax: 3 },
      { status: 503 },
      { status: 503 },
      { status: 409 },
    )
    assert.deepEqual([row.state, row.attempts, calls.length, charged], ['failed', 3, 3, false])
  })

  for (const status of [400, 401, 403, 404, 422]) {
    it(`fails at once after ${status}`, async () => {
      const { row, calls } = await settle({}, { status })
      assert.deepEqual([row.state, row.response_status, calls.length], ['failed', status, 1])
    })
  }

  it('does not follow a redirect', async () => {
    const { row, calls } = await settle({}, { status: 307, headers: { location: '/elsewhere' } })
    assert.deepEqual([row.state, calls.map(call => call.path)], ['failed', ['/charges']])
  })

  it('says unknown, not failed, when a refusal follows a call that may have happened', async () => {
    const { row, charged } = await settle(impatient, 'charge, never answer', { status: 422 })
    assert.deepEqual([row.state, row.attempts, charged], ['unknown', 2, true])
  })

  it('keeps the doubt through answers that say nothing about it', async () => {
    const { row } = await settle({ ...impatient, attemptsMax: 2 }, 'charge, never answer', { status: 503 })
    assert.equal(row.state, 'unknown')
  })

  it('stops reading an answer without end, and notes it', async () => {
    const { row } = await settle({}, 'charge, answer without end')
    assert.equal(row.state, 'completed')
    assert.match(row.last_error!, /longer than 65536 bytes/)
    assert.deepEqual(row.response_digest, bytesDigest(Buffer.alloc(65_536)))
  })

  it('pauses the target for as long as Retry-After asks, within its longest delay', async () => {
    const consumer = nextConsumer()
    const limited = `${consumer}-limited`
    gateway.plan(limited, { status: 429, headers: { 'retry-after': '3600' } })
    await scene.intend(consumer, [limited])
    const dispatcher = await start(consumer, { retryDelayMaxMs: 300 })
    await until('it is limited', async () => (await scene.row(consumer, limited)).state === 'retryable')
    const pausedAtMs = performance.now()
    await scene.intend(consumer, [`${consumer}-next`])
    await until('the next is charged', () => gateway.charges.has(`${consumer}-next`))
    assert.ok(performance.now() - pausedAtMs > 150, 'the target was left alone for a while')
    const { rows } = await scene.pool.query(
      `select due_at > clock_timestamp() + interval '14 min' and due_at < clock_timestamp() + interval '16 min' as far
       from onceward.ledger where effect_key = $1`,
      [limited],
    )
    assert.equal(rows[0].far, true)
    await dispatcher.drain()
  })

  it('says of a target that cannot be reached that it did not happen', async () => {
    const refused = await settle({ url: 'http://127.0.0.1:1023/', attemptsMax: 3 })
    assert.deepEqual([refused.row.state, refused.row.attempts], ['failed', 3])
    assert.match(refused.row.last_error!, /ECONNREFUSED/)
    const forbidden = await settle({ url: 'http://127.0.0.1:9/' })
    assert.deepEqual([forbidden.row.state, forbidden.row.attempts], ['failed', 1])
    assert.match(forbidden.row.last_error!, /bad port/)
  })

  it('sends no key that HTTP would change, and no bytes that are not the recorded ones', async () => {
    const consumer = nextConsumer()
    const keys = ['grüße', 'k1 ', 'k2']
    await scene.intend(consumer, keys)
    await scene.pool.query(
      `update onceward.ledger set body = '\\x00' where consumer_name = $1 and effect_key = 'k2'`,
      [consumer],
    )
    const dispatcher = await start(consumer)
    await until('all are refused', async () => (await scene.states(consumer)).failed === 3)
    assert.deepEqual(
      keys.flatMap(key => gateway.callsFor(key)),
      [],
    )
    await dispatcher.drain()
  })

  it('does not send again what may have happened so long ago that the key may be forgotten', async () => {
    const consumer = nextConsumer()
    await scene.intend(consumer, [`${consumer}-doubt`, `${consumer}-sure`])
    await scene.pool.query(
      `update onceward.ledger set created_at = created_at - interval '13 h', attempts = 1,
         state = case when effect_key like '%doubt' then 'unknown' else 'retryable' end::onceward.effect_state
       where consumer_name = $1`,
      [consumer],
    )
    const dispatcher = await start(consumer)
    await until(
      'the sure one is done',
      async () => (await scene.row(consumer, `${consumer}-sure`)).state === 'completed',
    )
    await until(
      'the other waits',
      async () => (await scene.row(consumer, `${consumer}-doubt`)).due === 'infinity',
    )
    assert.equal((await scene.row(consumer, `${consumer}-doubt`)).state, 'unknown')
    assert.equal(gateway.callsFor(`${consumer}-doubt`).length, 0)
    await dispatcher.drain()
  })

  it('calls each of 300 once from two dispatchers, within the concurrency of each', async () => {
    const own = await new Gateway().open()
    gateways.push(own)
    const consumer = nextConsumer()
    const keys = Array.from({ length: 300 }, (_, index) => `${consumer}-${index}`)
    await scene.intend(consumer, keys)
    const two = await Promise.all([1, 2].map(() => start(consumer, { url: own.url, concurrencyMax: 4 })))
    await until('all complete', async () => (await scene.states(consumer)).completed === 300)
    await Promise.all(two.map(dispatcher => dispatcher.drain()))
    assert.equal(own.calls.length, 300)
    assert.deepEqual([own.charges.size, own.perKeyInFlightMax], [300, 1])
    assert.ok(own.callsInFlightMax <= 8, `${own.callsInFlightMax} calls at once`)
    assert.ok(
      two.every(dispatcher => dispatcher.tally.called > 0),
      'both took part',
    )
    assert.equal(
      two.reduce((sum, dispatcher) => sum + dispatcher.tally.fenced, 0),
      0,
    )
  })

  it('claims no more than it may call, however often it looks', async () => {
    const own = await new Gateway().open()
    gateways.push(own)
    const consumer = nextConsumer()
    const keys = Array.from({ length: 8 }, (_, index) => `${consumer}-${index}`)
    for (const key of keys) own.plan(key, 'hold, then charge')
    await scene.intend(consumer, keys)
    let looks = 0
    const world = realSurroundings()
    const after: Timers['after'] = (delayMs, callback) => {
      const look = () => {
        looks++
        callback()
      }
      return world.timers.after(delayMs, delayMs === quick.timeoutMs ? callback : look)
    }
    const timers = { ...world.timers, after }
    const target = { url: own.url, concurrencyMax: 3 }
    const dispatcher = await start(consumer, target, { world: { ...world, timers } })
    await until('three calls are in flight', () => own.calls.length >= 3)
    const before = looks
    await until('it has looked again', () => looks >= before + 3)
    assert.deepEqual(await scene.states(consumer), { 'in flight': 3, pending: 5 })
    await until('all are charged', () => {
      own.release()
      return own.charges.size === 8
    })
    await dispatcher.drain()
    assert.equal(own.callsInFlightMax, 3)
  })

  it('pauses while the database is away and goes on by itself, losing no answer', async () => {
    const consumer = nextConsumer()
    const key = `${consumer}-key`
    const pool = interruptible(scene.pool)
    gateway.plan(key, 'hold, then charge')
    await scene.intend(consumer, [key])
    const dispatcher = await start(consumer, {}, { pool })
    await until('the call is made', () => gateway.callsFor(key).length === 1)
    pool.away = true
    gateway.release()
    await until('recording was tried', () => pool.refused >= 3)
    await until('it says so', () => dispatcher.tally.storeAway)
    pool.away = false
    await until('it completes', async () => (await scene.row(consumer, key)).state === 'completed')
    await scene.intend(consumer, [`${key}-2`])
    await until(
      'the next completes',
      async () => (await scene.row(consumer, `${key}-2`)).state === 'completed',
    )
    assert.deepEqual([gateway.callsFor(key).length, dispatcher.tally.storeAway], [1, false])
    await dispatcher.drain()
  })

  for (const lost of ['claim', 'commit'] as const) {
    it(`counts no attempt and no doubt when the answer to its ${lost} is lost: the one call it may make is made`, async () => {
      const consumer = nextConsumer()
      const key = `${consumer}-key`
      await scene.intend(consumer, [key])
      const proxy = await startProxyFor(scene.url)
      const pool = createPool(proxy.through(scene.url))
      let claims = 0
      let cuts = 0
      proxy.toClient(bytes => {
        if (bytes.includes(key)) claims++
        if (cuts > 0 || claims === 0 || !bytes.includes(lost === 'claim' ? key : 'COMMIT')) return bytes
        cuts++
        setImmediate(() => proxy.cut())
        return null
      })
      const dispatcher = await start(consumer, { attemptsMax: 1 }, { pool })
      await until('it completes', async () => (await scene.row(consumer, key)).state === 'completed')
      await dispatcher.drain()
      const { attempts, epoch } = await scene.row(consumer, key)
      assert.deepEqual(
        { calls: gateway.callsFor(key).length, attempts, epoch, cuts },
        { calls: 1, attempts: 1, epoch: lost === 'claim' ? 1 : 2, cuts: 1 },
      )
      await pool.end()
      await proxy.close()
    })
  }

  it('survives its sessions being ended by the server', async () => {
    const consumer = nextConsumer()
    const keys = Array.from({ length: 200 }, (_, index) => `${consumer}-${index}`)
    await scene.intend(consumer, keys)
    const dispatcher = await start(consumer, { concurrencyMax: 2, timeoutMs: 1_000 }, { leaseMs: 2_000 })
    let cuts = 0
    await until('all complete', async () => {
      if (cuts++ < 10) {
        await scene.pool.query(
          'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
        )
      }
      return (await scene.states(consumer).catch(() => ({}) as Record<string, number>)).completed === 200
    })
    assert.ok(cuts >= 10)
    assert.equal(keys.filter(key => gateway.charges.has(key)).length, 200)
    await dispatcher.drain()
  })

  it('finishes and records the calls in flight when drained, and takes nothing new', async () => {
    const consumer = nextConsumer()
    gateway.plan(`${consumer}-a`, 'hold, then charge')
    await scene.intend(consumer, [`${consumer}-a`])
    const dispatcher = await start(consumer)
    await until('the call is made', () => gateway.callsFor(`${consumer}-a`).length === 1)
    const drained = dispatcher.drain()
    await scene.intend(consumer, [`${consumer}-b`])
    dispatcher.kick()
    gateway.release()
    await drained
    await dispatcher.finished
    assert.equal((await scene.row(consumer, `${consumer}-a`)).state, 'completed')
    assert.deepEqual(
      [(await scene.row(consumer, `${consumer}-b`)).state, gateway.callsFor(`${consumer}-b`).length],
      ['pending', 0],
    )
  })

  it('says loudly that credentials are refused, and does not burn the backlog on them', async () => {
    const consumer = nextConsumer()
    const keys = Array.from({ length: 20 }, (_, index) => `${consumer}-${index}`)
    for (const key of keys) gateway.plan(key, { status: 401 })
    await scene.intend(consumer, keys)
    const errors: string[] = []
    const log: Log = { debug() {}, info() {}, warn() {}, error: message => errors.push(message) }
    const dispatcher = await start(
      consumer,
      { concurrencyMax: 2, retryDelayMaxMs: 60_000 },
      { world: realSurroundings({ log }) },
    )
    await until('the first fail', async () => (await scene.states(consumer)).failed === 2)
    dispatcher.kick()
    await dispatcher.drain()
    assert.ok(errors.some(message => message.includes('credentials')))
    assert.deepEqual(await scene.states(consumer), { failed: 2, pending: 18 })
  })

  it('wakes on a kick long before its next poll', async () => {
    const consumer = nextConsumer()
    const timers: { delayMs: number; callback: () => void }[] = []
    const world = realSurroundings()
    const dispatcher = await start(
      consumer,
      {},
      {
        world: {
          ...world,
          timers: {
            ...world.timers,
            // Polls never fire: only kicks can wake it.
            after: (delayMs, callback) => {
              if (delayMs === quick.timeoutMs) return world.timers.after(delayMs, callback)
              timers.push({ delayMs, callback })
              return () => {}
            },
          },
        },
      },
    )
    await until('it is idle', () => timers.length > 0)
    await scene.intend(consumer, [`${consumer}-key`])
    dispatcher.kick()
    await until(
      'it completes',
      async () => (await scene.row(consumer, `${consumer}-key`)).state === 'completed',
    )
    dispatcher.leave()
  })

  it('refuses a lease that does not outlast the call, and an address that is not http', () => {
    const make = (target: ExternalTarget, leaseMs?: number) =>
      createDispatcher({
        pool: scene.pool,
        targets: { gateway: target },
        consumerName: 'x',
        world: realSurroundings(),
        instance: 'test',
        ...(leaseMs && { leaseMs }),
      })
    assert.throws(() => make({ url: gateway.url, timeoutMs: 1_000 }, 1_000), /does not outlast a call/)
    assert.throws(() => make({ url: 'file:///etc/hosts' }), /not an http/)
    assert.throws(() => make({ url: 'http://me:secret@localhost/' }), /carries credentials/)
    assert.throws(() => make({ url: gateway.url, headers: { 'bad header': 'x' } }), /headers cannot be sent/)
  })
})
