import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ConsumerContract } from 'onceward'
import type { MemoryTransaction } from 'onceward/memory'
import { ConsumerRig, type Note, type NoteContext } from './consumer-rig.ts'

type Changes = Partial<ConsumerContract<Note, MemoryTransaction>>

const notes = (count: number, key?: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => ({ id: `n${n}`, ...(key && { key: key(n) }) }))

/** A rig in which a process took everything and died, as far as the store and the queue can tell. */
async function afterDeath(published: readonly Note[], changes: Changes = {}) {
  const rig = new ConsumerRig()
  rig.publish(...published)
  const dead = await rig.start({ ...changes, handle: () => new Promise<void>(() => {}) })
  await rig.env.turn()
  rig.store.closeRun = () => Promise.resolve()
  dead.leave()
  await rig.env.turn()
  delete (rig.store as { closeRun?: unknown }).closeRun
  return rig
}

/** How many handlers had begun when each began and had not ended. */
function batchSizes(rig: ConsumerRig) {
  const sizes: number[] = []
  let running = 0
  const handle = async ({ message, tx }: NoteContext) => {
    running++
    const mine = sizes.push(running) - 1
    await rig.env.turn()
    sizes[mine] = Math.max(sizes[mine]!, running)
    running--
    rig.apply(tx, message.id)
  }
  return { sizes, handle }
}

/** The runs a newcomer would take for dead. */
async function silent(rig: ConsumerRig): Promise<readonly number[]> {
  const newcomer = await rig.store.enroll(factsOf())
  const found = await rig.store.suspects.beat(newcomer, 0)
  await rig.store.memory.closeRun(newcomer)
  return found.map(({ runId }) => runId)
}

async function settled(rig: ConsumerRig): Promise<void> {
  for (let turns = 0; turns < 500 && rig.queue.unsettled > 0; turns++) await rig.env.turn()
  assert.equal(rig.queue.unsettled, 0)
}

describe('after a process crashed', () => {
  test('suspects are taken in a group that is on record while its handlers run, and is no attempt of theirs', async () => {
    const rig = await afterDeath(notes(5))
    const { sizes, handle } = batchSizes(rig)
    const onRecord: unknown[] = []
    const one = await rig.start({
      handle: async context => {
        const { groups, attempts } = rig.store.memory.committed
        onRecord.push([[...groups.values()].flatMap(runs => [...runs.values()]), attempts.size])
        await handle(context)
      },
    })
    await settled(rig)
    assert.equal(sizes.length, 5)
    assert.deepEqual(onRecord, Array(5).fill([[5, 5, 5, 5, 5], 0]))
    const { groups, attempts } = rig.store.memory.committed
    assert.deepEqual([groups.size, attempts.size], [0, 0], 'whoever gets through is not blamed')
    assert.deepEqual(rig.applied, { n0: 1, n1: 1, n2: 1, n3: 1, n4: 1 })
    assert.equal(rig.env.counted.get('suspects'), 5)
    await one.drain()
  })

  test('one suspect is alone, with an attempt on record', async () => {
    const rig = await afterDeath(notes(1))
    const onRecord: number[] = []
    const one = await rig.start({
      handle: ({ message, tx }) => {
        onRecord.push(rig.store.memory.committed.attempts.size)
        rig.apply(tx, message.id)
      },
    })
    await settled(rig)
    assert.deepEqual(onRecord, [1])
    assert.equal(rig.store.memory.committed.attempts.size, 0)
    await one.drain()
  })

  test('messages that were never delivered before are in batches of their own, after the suspects', async () => {
    const rig = await afterDeath(notes(3))
    rig.publish({ id: 'fresh0' }, { id: 'fresh1' })
    const together: string[][] = []
    const one = await rig.start({
      handleBatch: async ({ batch, tx }) => {
        together.push(batch.map(({ message }) => message.id))
        for (const { message } of batch) rig.apply(tx, message.id)
      },
    })
    await settled(rig)
    assert.deepEqual(together, [
      ['n0', 'n1', 'n2'],
      ['fresh0', 'fresh1'],
    ])
    await one.drain()
  })

  test('a group has at most 64', async () => {
    const rig = await afterDeath(notes(150))
    const together: number[] = []
    const one = await rig.start({
      handleBatch: async ({ batch }) => void together.push(batch.length),
    })
    await settled(rig)
    assert.deepEqual(together, [64, 64, 22])
    await one.drain()
  })

  test('a process that is drained in the middle of a group leaves no record of it', async () => {
    const rig = await afterDeath(notes(4))
    const hung = await rig.start({ handle: () => new Promise<void>(() => {}) })
    await rig.env.turn()
    assert.equal(rig.store.memory.committed.groups.size, 4)
    hung.leave()
    for (let turns = 0; turns < 10; turns++) await rig.env.turn()
    assert.equal(rig.store.memory.committed.groups.size, 0)
    const one = await rig.start({})
    await settled(rig)
    assert.deepEqual(rig.applied, { n0: 1, n1: 1, n2: 1, n3: 1 })
    await one.drain()
  })

  for (const count of [1, 4])
    test(`halts for a cause that concerns every message are no crashes, also where the process ends before it withdraws its records: ${count}`, async () => {
      const rig = await afterDeath(notes(count))
      const failure = { attemptsMax: 2, policies: { configuration: { terminal: 'halted' as const } } }
      const transaction = rig.store.transaction.bind(rig.store)
      for (let times = 0; times < 10; times++) {
        const one = rig.process({
          failure,
          handle: () => {
            throw Object.assign(new Error('relation "payment" does not exist'), { code: '42P01' })
          },
        })
        rig.store.transaction = (enrolment, work) =>
          one.state === 'halted' ? new Promise<never>(() => {}) : transaction(enrolment, work)
        await one.start()
        for (let turns = 0; turns < 50 && one.state === 'running'; turns++) await rig.env.turn()
        assert.equal(one.state, 'halted')
        await assert.rejects(one.finished, { code: 'consumer_halted' })
      }
      rig.store.transaction = transaction
      const last = await rig.start({ failure })
      await settled(rig)
      assert.deepEqual(Object.keys(rig.applied).length, count)
      const { held, attempts, groups } = rig.store.memory.committed
      assert.deepEqual([held.size, attempts.size, groups.size], [0, 0, 0])
      await last.drain()
    })

  test('normal batches resume when as many messages as the crashed run can have held are done', async () => {
    const rig = await afterDeath(notes(4), { batch: { deliveriesMax: 4 } })
    const one = await rig.start({})
    await settled(rig)
    assert.equal(rig.env.counted.get('suspects'), 4)
    await one.drain()
    assert.deepEqual(await silent(rig), [], 'the dead run is cleared for everybody')
  })

  test('a run with heartbeats has not crashed: its suspects are cleared', async () => {
    const rig = new ConsumerRig()
    rig.publish(...notes(3))
    const hung = await rig.start({ handle: () => new Promise<void>(() => {}) })
    await rig.env.turn()
    hung.leave()
    await rig.env.turn()
    const neighbour = await rig.store.enroll(factsOf())
    const first = Promise.withResolvers<void>()
    const one = await rig.start({
      batch: { sizeMax: 1 },
      handle: async ({ message, tx }) => {
        if (rig.handled.length === 0) await first.promise
        rig.apply(tx, message.id)
      },
    })
    await rig.env.turn()
    assert.equal(rig.env.counted.get('suspects'), 1, 'not heard of yet')
    await rig.store.suspects.beat(neighbour, 0)
    await rig.env.advance(2_000)
    first.resolve()
    await settled(rig)
    assert.equal(rig.env.counted.get('suspects'), 1, 'heard of, so the others were no suspects')
    await one.drain()
    assert.deepEqual(await silent(rig), [neighbour.runId], 'and it is not cleared: it lives')
  })

  test('after five minutes no message is suspected any more', async () => {
    const rig = await afterDeath([])
    const one = await rig.start({})
    assert.equal((await silent(rig)).length, 2, 'the dead one, and the one that has just begun')
    await rig.env.advance(5 * 60_000)
    await one.drain()
    assert.deepEqual(await silent(rig), [])
  })

  test('without a silent run, redelivered messages are in normal batches', async () => {
    const rig = new ConsumerRig()
    rig.publish(...notes(4))
    const first = await rig.start({ handle: () => new Promise<void>(() => {}) })
    await rig.env.turn()
    first.leave()
    await rig.env.turn()
    const { sizes, handle } = batchSizes(rig)
    const one = await rig.start({ handle })
    await settled(rig)
    assert.equal(Math.max(...sizes), 4)
    assert.equal(rig.env.counted.get('suspects'), undefined)
    await one.drain()
  })
})

describe('the message that crashed its process', () => {
  const failure = { attemptsMax: 3, delayMs: 0, delayMaxMs: 0 }

  /**
   * Starts processes of which each dies in the handler of `killer`; answers how many it took until one lived.
   */
  async function restarts(rig: ConsumerRig, killer: string, changes: Changes = {}): Promise<number> {
    for (let restart = 1; ; restart++) {
      assert.ok(restart < 20, 'the killer is found')
      const { promise: died, resolve: die } = Promise.withResolvers<'died'>()
      const one = await rig.start({
        failure,
        ...changes,
        handle: ({ message, tx, signal }) => {
          if (message.id !== killer) return rig.apply(tx, message.id)
          die('died')
          return new Promise<void>((_, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason)),
          )
        },
      })
      const end = await Promise.race([died, settled(rig).then(() => 'lived' as const)])
      if (end === 'lived') {
        await one.drain()
        return restart
      }
      const [closeRun, transaction] = [rig.store.closeRun, rig.store.transaction]
      Object.assign(rig.store, { closeRun: async () => {}, transaction: () => new Promise(() => {}) })
      one.leave()
      await rig.env.turn()
      Object.assign(rig.store, { closeRun, transaction })
    }
  }

  test('is found within (attempts + log2 n + 1) restarts and parked with its history; other messages are applied once', async () => {
    const rig = await afterDeath(notes(20))
    assert.equal(await restarts(rig, 'n7'), failure.attemptsMax + 1 + Math.floor(Math.log2(20)))
    const [held] = rig.store.memory.committed.held.values()
    assert.deepEqual(
      [held!.id, held!.state, held!.failureClass, held!.code, held!.attempts, held!.reason],
      ['n7', 'parked', 'poison', 'process_died', 3, 'its process crashed 3 times'],
    )
    assert.equal(rig.store.memory.committed.held.size, 1)
    const { n7, ...others } = rig.applied
    assert.equal(n7, undefined)
    assert.equal(Object.keys(others).length, 19)
    assert.ok(Object.values(others).every(times => times === 1))
    assert.deepEqual(
      [...rig.store.memory.committed.attempts.values()].map(list => list.length),
      [3],
      'only the killer has attempts on record',
    )
    assert.equal(rig.env.counted.get('parkedSuspects'), 1)
  })

  test('blocks its key, and only its key', async () => {
    const order = {
      order: 'key',
      identity: { id: (m: Note) => m.id, orderKey: (m: Note) => m.key! },
    } as const
    const rig = await afterDeath(
      notes(8, n => (n % 2 ? 'odd' : 'even')),
      order,
    )
    assert.equal(await restarts(rig, 'n3', order), failure.attemptsMax + 1 + Math.log2(8))
    assert.deepEqual(Object.keys(rig.applied).sort(), ['n0', 'n1', 'n2', 'n4', 'n6'])
    assert.deepEqual(
      [...rig.store.memory.committed.held.values()].map(({ id, code }) => [id, code]),
      [
        ['n3', 'process_died'],
        ['n5', 'behind_parked'],
        ['n7', 'behind_parked'],
      ],
    )
  })

  test('is not tried again where its lane must wait for it', async () => {
    const stop = {
      order: 'key',
      identity: { id: (m: Note) => m.id, orderKey: (m: Note) => m.key! },
      failure: { ...failure, exhausted: 'stop', delayMaxMs: 1_000 },
    } as const
    const rig = await afterDeath([{ id: 'n0', key: 'k' }], stop)
    for (let attempt = 0; attempt < failure.attemptsMax; attempt++) {
      const enrolment = await rig.store.enroll(factsOf())
      await rig.store.suspects.beginAttempt(enrolment, 'n0', failure.attemptsMax)
    }
    const one = await rig.start(stop)
    await rig.env.advance(60_000)
    assert.deepEqual(rig.handled, [])
    assert.equal(rig.queue.unsettled, 1)
    await one.drain()
  })

  test('an ordinary failure of a suspect is one attempt, not two', async () => {
    const rig = await afterDeath([{ id: 'n0' }])
    let failures = 0
    const one = await rig.start({
      failure: { attemptsMax: 3, delayMs: 10, delayMaxMs: 10 },
      handle: () => {
        failures++
        throw new Error('no')
      },
    })
    for (let turns = 0; turns < 10; turns++) await rig.env.advance(10)
    assert.equal(failures, 3)
    const [held] = rig.store.memory.committed.held.values()
    assert.deepEqual([held!.attempts, held!.code === 'process_died'], [3, false])
    await one.drain()
  })
})

function factsOf() {
  return {
    name: 'notes',
    generation: 1,
    owner: 'unit',
    risk: 'low value',
    mode: 'live',
    handlerVersion: '1',
    instance: 'unit',
    handlerTimeoutMs: 1_000,
    deliveriesMax: 10,
    dedup: 'marker' as const,
    deadLetterTo: null,
  }
}
