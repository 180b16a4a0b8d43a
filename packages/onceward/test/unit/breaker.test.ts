import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ConsumerProcess, defineConsumer, realEnvironment, retryAfter } from 'onceward'
import { MemoryQueue, MemoryStore, type MemoryTransaction } from 'onceward/memory'
import { until } from 'onceward/testing'
import { ConsumerRig, type Note, type NoteContext } from './consumer-rig.ts'

const refused = () => Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
const notes = (count: number, from = 0) => Array.from({ length: count }, (_, n) => ({ id: `m${from + n}` }))

/** A consumer whose handler calls somebody who may be away. */
class Outage extends ConsumerRig {
  away = true
  calls = 0

  readonly contract = {
    failure: {
      attemptsMax: 3,
      delayMs: 10,
      breaker: { failuresMax: 3, pauseMs: 1_000, pauseMaxMs: 4_000 },
    },
    handle: ({ message, tx }: NoteContext) => {
      this.calls++
      if (this.away) throw refused()
      this.apply(tx, message.id)
    },
  }

  attempts(id: string): number {
    return this.store.memory.committed.attempts.get(`notes/1\0${id}`)?.length ?? 0
  }

  get parked(): number {
    return this.store.memory.committed.held.size
  }
}

describe('the breaker', () => {
  test('a backlog during an outage uses no attempt, is not set aside, and is applied afterwards', async () => {
    const rig = new Outage()
    rig.publish(...notes(200))
    const one = await rig.start(rig.contract)
    await rig.env.turn()
    assert.equal(one.tally.breaker, 'open')
    rig.expectLogged('warn', /source paused/)
    assert.equal(rig.env.counted.get('pauses'), 1)
    const { calls } = rig
    await rig.env.advance(60_000)
    assert.ok(rig.calls - calls < 25, `${rig.calls - calls} calls in a minute of outage`)
    rig.away = false
    await rig.env.advance(4_000)
    assert.equal(one.tally.breaker, 'closed')
    rig.expectLogged('info', /available again/)
    await rig.env.advance(4_000)
    assert.equal(Object.keys(rig.applied).length, 200)
    assert.equal(rig.parked, 0)
    assert.ok(notes(200).every(({ id }) => rig.attempts(id) === 0))
    await one.drain()
  })

  test('probes with one message at a time, and each time with another', async () => {
    const rig = new Outage()
    const probed: string[] = []
    rig.publish(...notes(10))
    const one = await rig.start({
      ...rig.contract,
      handle: context => {
        probed.push(context.message.id)
        return rig.contract.handle(context)
      },
    })
    await rig.env.turn()
    probed.length = 0
    for (let time = 0; time < 6; time++) {
      const before = probed.length
      await rig.env.advance(5_000)
      assert.ok(probed.length - before <= 2)
    }
    assert.ok(new Set(probed).size > 4, `asked ${probed}`)
    await one.drain()
  })

  test('waits twice as long after each probe that fails, up to its limit', async () => {
    const rig = new Outage()
    rig.publish(...notes(20))
    const one = await rig.start(rig.contract)
    await rig.env.turn()
    const before = rig.calls
    await rig.env.advance(1_000)
    assert.equal(rig.calls - before, 1)
    await rig.env.advance(1_999)
    assert.equal(rig.calls - before, 1)
    await rig.env.advance(1)
    assert.equal(rig.calls - before, 2)
    await rig.env.advance(4_000)
    assert.equal(rig.calls - before, 3)
    await rig.env.advance(4_000)
    assert.equal(rig.calls - before, 4)
    await one.drain()
  })

  test('one message that always fails is no outage: its attempts end it', async () => {
    const rig = new Outage()
    rig.publish({ id: 'm0' })
    const one = await rig.start(rig.contract)
    await rig.env.advance(10_000)
    assert.equal(rig.parked, 1)
    assert.equal(rig.attempts('m0'), 3)
    assert.equal(one.tally.breaker, 'closed')
    await one.drain()
  })

  for (const code of ['53000', '53100', '53300', '57P03', '58030'])
    for (const breaker of [{ failuresMax: 3, pauseMs: 1_000, pauseMaxMs: 4_000 }, false] as const)
      test(`a database that cannot serve any client (${code}) uses no attempt, ${breaker ? 'however few messages fail' : 'also without a breaker'}`, async () => {
        const rig = new Outage()
        rig.publish({ id: 'm0' }, { id: 'm1' })
        const one = await rig.start({
          failure: { attemptsMax: 1, delayMs: 10, breaker },
          handle: ({ message, tx }) => {
            if (rig.away && message.id === 'm0') throw Object.assign(new Error('no'), { code })
            rig.apply(tx, message.id)
          },
        })
        await rig.env.advance(300_000)
        assert.equal(rig.attempts('m0'), 0)
        assert.deepEqual([rig.parked, rig.applied], [0, { m1: 1 }])
        rig.away = false
        await rig.env.advance(10_000)
        assert.deepEqual(rig.applied, { m0: 1, m1: 1 })
        await one.drain()
      })

  for (const code of ['53200', '53400'])
    test(`a limit that one message may reach alone (${code}) counts only while others are applied`, async () => {
      const rig = new Outage()
      const tooMuch = () => Object.assign(new Error('limit reached'), { code })
      rig.publish({ id: 'm0' })
      const one = await rig.start({
        failure: { ...rig.contract.failure, attemptsMax: 1 },
        handle: ({ message, tx }) => {
          if (message.id === 'm0') throw tooMuch()
          rig.apply(tx, message.id)
        },
      })
      await rig.env.advance(60_000)
      assert.deepEqual([rig.parked, rig.attempts('m0')], [0, 0])
      rig.publish({ id: 'm1' })
      await rig.env.advance(60_000)
      assert.deepEqual([rig.applied, rig.parked, rig.attempts('m0')], [{ m1: 1 }, 1, 1])
      await one.drain()
    })

  test('the contract may say that it is the message after all', async () => {
    const rig = new Outage()
    rig.publish({ id: 'm0' })
    const one = await rig.start({
      failure: { attemptsMax: 1, classes: { '53100': 'validation' } },
      handle: () => {
        throw Object.assign(new Error('no'), { code: '53100' })
      },
    })
    await rig.env.advance(1_000)
    assert.deepEqual([rig.parked, rig.attempts('m0')], [1, 1])
    await one.drain()
  })

  test('failures among healthy neighbours are no outage', async () => {
    const rig = new Outage()
    rig.publish(...notes(40))
    const one = await rig.start({
      ...rig.contract,
      handle: ({ message, tx }) => {
        if (Number(message.id.slice(1)) % 4 === 0) throw refused()
        rig.apply(tx, message.id)
      },
    })
    await rig.env.advance(10_000)
    assert.equal(rig.parked, 10)
    assert.equal(rig.env.counted.get('pauses'), undefined)
    await one.drain()
  })

  test('one that failed while others succeeded, and then another, are no outage either', async () => {
    const rig = new Outage()
    const bad = new Set(['m0', 'm2', 'm4', 'm6', 'm8'])
    const one = await rig.start({
      ...rig.contract,
      handle: ({ message, tx }) => {
        if (bad.has(message.id)) throw refused()
        rig.apply(tx, message.id)
      },
    })
    for (const note of notes(10)) {
      rig.publish(note)
      await rig.env.turn()
    }
    await rig.env.advance(10_000)
    assert.equal(rig.parked, 5)
    assert.equal(rig.env.counted.get('pauses'), undefined)
    await one.drain()
  })

  test('two lanes whose heads fail are an outage before any message is set aside', async () => {
    const rig = new Outage()
    rig.publish(...notes(30).map((note, n) => ({ ...note, key: `k${n % 2}` })))
    const one = await rig.start({
      ...rig.contract,
      order: 'key',
      identity: { id: m => m.id, orderKey: m => m.key },
    })
    await rig.env.advance(60_000)
    assert.equal(rig.parked, 0)
    rig.away = false
    await rig.env.advance(20_000)
    assert.deepEqual(
      rig.handled.filter(id => Number(id.slice(1)) % 2 === 0),
      notes(30).flatMap(({ id }, n) => (n % 2 === 0 ? [id] : [])),
    )
    await one.drain()
  })

  test('messages that are probed repeatedly because no others wait end by their attempts', async () => {
    const rig = new Outage()
    rig.publish({ id: 'm0' }, { id: 'm1' })
    const one = await rig.start(rig.contract)
    await rig.env.advance(60_000)
    assert.equal(rig.parked, 0)
    await rig.env.advance(120_000)
    assert.equal(rig.parked, 2)
    rig.away = false
    rig.publish({ id: 'm2' })
    await rig.env.advance(10_000)
    assert.deepEqual(rig.applied, { m2: 1 })
    await one.drain()
  })

  test('failures unrelated to the dependency do not open it', async () => {
    const rig = new Outage()
    rig.publish(...notes(20))
    const one = await rig.start({ ...rig.contract, handle: () => retryAfter(10) })
    await rig.env.advance(1_000)
    assert.equal(rig.env.counted.get('pauses'), undefined)
    assert.equal(rig.parked, 20)
    await one.drain()
  })

  test('switched off it lets attempts decide', async () => {
    const rig = new Outage()
    rig.publish(...notes(20))
    const one = await rig.start({
      ...rig.contract,
      failure: { ...rig.contract.failure, breaker: false },
    })
    await rig.env.advance(1_000)
    assert.equal(rig.parked, 20)
    await one.drain()
  })

  test('a drain does not wait for the pause to end', async () => {
    const rig = new Outage()
    rig.publish(...notes(20))
    const one = await rig.start(rig.contract)
    await rig.env.turn()
    await one.drain()
    assert.equal(one.state, 'stopped')
    assert.deepEqual(rig.env.due, [])
  })
})

test('messages that keep failing at once do not block others, in batches of one', async () => {
  const queue = new MemoryQueue()
  const put = (id: string) => queue.publish({ body: JSON.stringify({ id }) })
  for (const { id } of notes(40)) put(id)
  const applied: string[] = []
  const one = new ConsumerProcess<Note, MemoryTransaction>({
    consumer: defineConsumer<Note, MemoryTransaction>({
      name: 'notes',
      owner: 'unit',
      risk: 'low value',
      source: { kind: 'memory' },
      identity: { id: m => m.id },
      batch: { sizeMax: 1 },
      failure: { attemptsMax: 200, delayMs: 1, delayMaxMs: 1, breaker: false },
      handle: ({ message }) => {
        if (message.id.startsWith('m')) throw new Error('no')
        applied.push(message.id)
      },
    }),
    source: queue,
    store: new MemoryStore(),
    env: realEnvironment(),
    instance: 'unit',
  })
  await one.start()
  await until('they fail again and again', () => (one.tally.outcomes.retry ?? 0) > 400)
  put('healthy')
  await until('another gets through', () => applied.length === 1)
  assert.equal(one.tally.outcomes.parked ?? 0, 0, 'none of them had to end first')
  await one.drain()
})
