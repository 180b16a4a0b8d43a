import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type BatchContext, ignore, park, reject, retryAfter, type Verdict } from 'onceward'
import { MemoryLog, MemoryQueue, type MemoryTransaction } from 'onceward/memory'
import type { OpenOptions } from '../../src/ports/source.ts'
import { ConsumerRig, type Note, type NoteContext } from './consumer-rig.ts'

/** What a message does at its first tries; then it is applied. */
type Try = 'retry' | 'fail' | 'statement fails' | 'park' | 'ignore' | 'reject'

interface Plan extends Note {
  readonly order: string
  readonly business?: string | undefined
  readonly tries?: readonly Try[]
  /** The broker counts that many deliveries. */
  readonly deliveries?: number
}

const lanes = ['k1', 'k2', 'k3']
const lists = {
  order: fc.constantFrom(...lanes),
  business: fc.constantFrom('b1', 'b1', 'b2', undefined),
  tries: fc.oneof(
    fc.constantFrom<readonly Try[]>([], ['park'], ['retry']),
    fc.array(fc.constantFrom<Try>('retry', 'fail', 'statement fails', 'park', 'ignore', 'reject'), {
      maxLength: 3,
    }),
  ),
  deliveries: fc.constantFrom(0, 0, 0, 9),
}
const plans = fc
  .array(fc.record(lists), { minLength: 2, maxLength: 8 })
  .map(all => all.map((one, n): Plan => ({ ...one, id: `m${n}` })))

const shapes = fc.record({
  order: fc.constantFrom('key' as const, 'partition' as const, 'none' as const),
  handler: fc.constantFrom('one by one' as const, 'together' as const),
  sizeMax: fc.constantFrom(2, 5, 100),
  totalMax: fc.constantFrom(1, 3, 1_000),
})
type Shape = typeof shapes extends fc.Arbitrary<infer T> ? T : never

/** Messages say how often they were delivered before. */
class CountedQueue extends MemoryQueue {
  override async open(options: OpenOptions) {
    const subscription = await super.open(options)
    const receive = subscription.receive.bind(subscription)
    subscription.receive = async max => {
      const deliveries = await receive(max)
      for (const delivery of deliveries) {
        const { deliveries: count = 0 } = JSON.parse(String(delivery.body)) as Plan
        Object.assign(delivery, { deliveryCount: count })
      }
      return deliveries
    }
    return subscription
  }
}

/** One publication of messages on the memory store, until nothing changes any more. */
class Schedule extends ConsumerRig {
  override readonly queue = new CountedQueue()
  readonly log = new MemoryLog({ timers: this.env.timers })
  readonly plans: readonly Plan[]
  readonly #left = new Map<string, Try[]>()

  constructor(given: readonly Plan[]) {
    super()
    this.plans = given
    for (const { id, tries = [] } of given) this.#left.set(id, [...tries])
  }

  async play({ order, handler, sizeMax, totalMax }: Shape): Promise<void> {
    const bodies = this.plans.map(plan => ({
      body: JSON.stringify(plan),
      partition: lanes.indexOf(plan.order),
    }))
    if (order === 'partition') this.log.publish(...bodies)
    else this.queue.publish(...bodies)
    const one = this.process(
      {
        order,
        batch: { sizeMax },
        identity: {
          id: (m: Note) => m.id,
          ...(order === 'key' && { orderKey: (m: Note) => (m as Plan).order }),
          businessKey: (m: Note) => (m as Plan).business ?? m.id,
        },
        failure: {
          attemptsMax: 3,
          delayMs: 10,
          delayMaxMs: 20,
          brake: false,
          parking: { totalMax },
          ...(order !== 'partition' && { redelivery: { countMax: 5, action: 'set aside' } }),
        },
        ...(handler === 'one by one'
          ? { handle: ({ message, tx }: NoteContext) => this.#handle(message as Plan, tx) }
          : {
              handleBatch: async ({ batch, tx }: BatchContext<Note, MemoryTransaction>) => {
                const verdicts = new Map()
                for (const item of batch) {
                  const verdict = this.#handle(item.message as Plan, tx)
                  if (verdict !== undefined) verdicts.set(item, verdict)
                }
                return verdicts
              },
            }),
      } as never,
      'live',
      order === 'partition' ? this.log : this.queue,
    )
    await one.start()
    for (let turns = 0; turns < 40; turns++) await this.env.advance(500)
    if (order !== 'none') this.#expectOrder()
    this.#expectOneEffect()
    if (totalMax > this.plans.length) this.#expectNothingLost()
    one.leave()
    await one.finished
  }

  #handle({ id }: Plan, tx: MemoryTransaction): Verdict | undefined {
    const next = this.#left.get(id)!.shift()
    if (next === 'statement fails') tx.set(id, 'half')
    if (next === 'fail' || next === 'statement fails') throw new Error('not yet')
    if (next === 'retry') return retryAfter(10)
    if (next === 'park') return park('an operator decides')
    if (next === 'ignore') return ignore('nothing to do')
    if (next === 'reject') return reject('wrong')
    tx.set('applied', [...this.#effects(tx), id])
    return undefined
  }

  #effects(data: MemoryTransaction): readonly string[] {
    return (data.get('applied') as readonly string[] | undefined) ?? []
  }

  get effects(): readonly string[] {
    return this.#effects(this.store.memory.committed.data)
  }

  /** In the order in which they were parked. */
  get parked(): readonly string[] {
    return [...this.store.memory.committed.held.values()]
      .filter(one => one.orderKey !== null)
      .map(one => one.id!)
  }

  get markers(): ReadonlyMap<string, string> {
    const { markers } = this.store.memory.committed
    return new Map([...markers].map(([key, { status }]) => [key.split('\0')[1]!, status]))
  }

  /** Of each key, messages are applied, then parked, both in the order of delivery. */
  #expectOrder(): void {
    for (const key of new Set(this.plans.map(({ order }) => order))) {
      const ids = this.plans.filter(({ order }) => order === key).map(({ id }) => id)
      const ended = [...this.effects, ...this.parked].filter(id => ids.includes(id))
      assert.deepEqual(
        ended,
        ids.filter(id => ended.includes(id)),
        `of ${key}`,
      )
      const first = ids.indexOf(this.parked.find(id => ids.includes(id)) ?? '')
      if (first === -1) continue
      const passed = ids.slice(first).filter(id => this.effects.includes(id))
      assert.deepEqual(passed, [], `applied past a parked message of ${key}`)
    }
  }

  #expectOneEffect(): void {
    for (const business of ['b1', 'b2']) {
      const ids = this.plans.filter(plan => plan.business === business).map(({ id }) => id)
      const effects = this.effects.filter(id => ids.includes(id))
      assert.ok(effects.length <= 1, `${business} has the effects ${effects}`)
    }
    assert.equal(new Set(this.effects).size, this.effects.length)
  }

  #expectNothingLost(): void {
    for (const { id, business } of this.plans) {
      const status = this.markers.get(id)
      assert.ok(status !== undefined, `${id} has no outcome`)
      if (status === 'applied') assert.ok(this.effects.includes(id), `${id} has no effect`)
      if (status !== 'duplicate') continue
      const same = this.plans.filter(plan => plan.business === business && this.effects.includes(plan.id))
      assert.equal(same.length, 1, `${id} is a duplicate of nothing`)
    }
  }
}

const byKey: Shape = { order: 'key', handler: 'one by one', sizeMax: 100, totalMax: 1_000 }

describe('messages that wait for a business key of their own batch', () => {
  test('one that waits behind a parked message does not block an earlier one of its order key', async () => {
    const schedule = new Schedule([
      { id: 'holder', order: 'k1', business: 'b1', tries: ['park'] },
      { id: 'earlier', order: 'k2', tries: ['retry'] },
      { id: 'resend', order: 'k2', business: 'b1' },
    ])
    await schedule.play(byKey)
    assert.deepEqual(schedule.effects, ['earlier'])
    assert.deepEqual(schedule.parked, ['holder', 'resend'])
  })

  test('what is behind such a message is neither applied nor set aside before it', async () => {
    const schedule = new Schedule([
      { id: 'holder', order: 'k1', business: 'b1', tries: ['retry', 'ignore'] },
      { id: 'resend', order: 'k2', business: 'b1' },
      { id: 'later', order: 'k2', deliveries: 9 },
    ])
    await schedule.play(byKey)
    assert.deepEqual(schedule.effects, ['resend'])
    assert.deepEqual(schedule.parked, ['later'])
  })

  test('for any messages, keys, failures, batches and limits, each key keeps its order and has one effect', async () => {
    await fc.assert(
      fc.asyncProperty(plans, shapes, (given, shape) => new Schedule(given).play(shape)),
      { numRuns: Number(process.env.ONCEWARD_PROPERTY_RUNS ?? 300) },
    )
  })
})
