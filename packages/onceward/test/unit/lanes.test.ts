import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Lanes } from '../../src/engine/consumer/lanes.ts'
import type { Received } from '../../src/message/received.ts'
import { receivedOf, unreadableOf } from './received.ts'

const many = 1_000_000
const ids = (batch: readonly Received[]) => batch.map(received => received.id)
const keyOf = (received: Received) => (received.readable ? received.envelope.orderKey! : '')

describe('unordered work', () => {
  test('is one list, cut first come first served', () => {
    const lanes = new Lanes()
    for (const id of ['a', 'b', 'c']) lanes.push(receivedOf(id))
    assert.deepEqual(ids(lanes.cut(2, many)), ['a', 'b'])
    assert.equal(lanes.ready > 0, true)
    assert.deepEqual(ids(lanes.cut(2, many)), ['c'])
    assert.equal(lanes.ready, 0)
  })

  test('is cut by bytes, but one message larger than that still gets a batch', () => {
    const lanes = new Lanes()
    for (const [id, bytes] of [
      ['a', 60],
      ['b', 60],
      ['c', 200],
      ['d', 10],
    ] as const)
      lanes.push(receivedOf(id, null, bytes))
    assert.deepEqual(ids(lanes.cut(10, 100)), ['a'])
    assert.deepEqual(ids(lanes.cut(10, 100)), ['b'])
    assert.deepEqual(ids(lanes.cut(10, 100)), ['c'])
    assert.deepEqual(ids(lanes.cut(10, 100)), ['d'])
  })

  test('is never held in a lane', () => assert.equal(new Lanes().hold([receivedOf('a')]), false))
})

describe('key-ordered work', () => {
  test('a lane is in one batch at a time, other lanes continue', () => {
    const lanes = new Lanes()
    for (const [id, key] of [
      ['a1', 'a'],
      ['a2', 'a'],
      ['b1', 'b'],
      ['a3', 'a'],
    ] as const)
      lanes.push(receivedOf(id, key))
    const first = lanes.cut(2, many)
    assert.deepEqual(ids(first), ['a1', 'a2'])
    assert.deepEqual(ids(lanes.cut(10, many)), ['b1'])
    assert.equal(lanes.ready, 0, 'lane a is busy although it has messages')
    lanes.release(first)
    assert.deepEqual(ids(lanes.cut(10, many)), ['a3'])
  })

  test('a returned message goes to the head of its lane and stops it until it is resumed', () => {
    const lanes = new Lanes()
    for (const id of ['a1', 'a2', 'a3']) lanes.push(receivedOf(id, 'a'))
    const batch = lanes.cut(2, many)
    assert.equal(lanes.hold(batch), true)
    lanes.release(batch)
    lanes.push(receivedOf('a4', 'a'))
    assert.equal(lanes.ready, 0)
    lanes.resume(batch[0]!)
    assert.deepEqual(ids(lanes.cut(10, many)), ['a1', 'a2', 'a3', 'a4'])
  })

  test('messages without a key are in no lane', () => {
    const lanes = new Lanes()
    lanes.push(unreadableOf('x'))
    lanes.push(unreadableOf('y'))
    assert.equal(lanes.cut(1, many).length, 1)
    assert.equal(lanes.cut(1, many).length, 1)
  })

  test('under any schedule a lane is never in two batches and its order is kept', () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({
          do: fc.constant('push' as const),
          key: fc.nat(3),
          bytes: fc.integer({ min: 1, max: 50 }),
        }),
        fc.record({
          do: fc.constant('cut' as const),
          count: fc.integer({ min: 1, max: 6 }),
          bytes: fc.integer({ min: 1, max: 120 }),
        }),
        fc.record({ do: fc.constant('end' as const), batch: fc.nat(), through: fc.nat(6) }),
        fc.record({ do: fc.constant('resume' as const), lane: fc.nat() }),
        fc.record({ do: fc.constant('forget' as const), key: fc.nat(3) }),
      ),
      { maxLength: 120 },
    )
    fc.assert(
      fc.property(steps, schedule => new LanesModel().play(schedule)),
      { numRuns: 500 },
    )
  })
})

type Step =
  | { do: 'push'; key: number; bytes: number }
  | { do: 'cut'; count: number; bytes: number }
  | { do: 'end'; batch: number; through: number }
  | { do: 'resume'; lane: number }
  | { do: 'forget'; key: number }

/**
 * Plays a consumer: cuts batches, lets a part of each get through, holds the rest, and watches the order of
 * every key.
 */
class LanesModel {
  readonly #lanes = new Lanes()
  readonly #flying: Received[][] = []
  readonly #waiting = new Map<string, Received>()
  readonly #pushed = new Map<string, number>()
  /** What has still to come out, in order. */
  readonly #pending = new Map<string, string[]>()

  play(schedule: readonly Step[]): void {
    for (const step of schedule) this.#step(step)
    for (let round = 0; round < 10_000 && this.#unfinished; round++) this.#flush()
    assert.deepEqual(
      [...this.#pending.values()].flat(),
      [],
      'everything not forgotten gets through in the end',
    )
  }

  #step(step: Step): void {
    if (step.do === 'push') this.#push(`k${step.key}`, step.bytes)
    else if (step.do === 'cut') this.#cut(step.count, step.bytes)
    else if (step.do === 'end') this.#end(step.batch, step.through)
    else if (step.do === 'forget') this.#forget(`k${step.key}`)
    else this.#resume([...this.#waiting.keys()][step.lane % Math.max(1, this.#waiting.size)])
  }

  #push(key: string, bytes: number): void {
    const place = this.#pushed.get(key) ?? 0
    this.#pushed.set(key, place + 1)
    this.#pending.set(key, [...(this.#pending.get(key) ?? []), `${place}`])
    this.#lanes.push(receivedOf(`${place}`, key, bytes))
  }

  /** As when a partition goes: only what is in a batch may still come out. */
  #forget(key: string): void {
    const flying = new Set(
      this.#flying
        .flat()
        .filter(received => keyOf(received) === key)
        .map(received => received.id),
    )
    this.#lanes.forget(received => keyOf(received) === key)
    this.#pending.set(
      key,
      (this.#pending.get(key) ?? []).filter(id => flying.has(id)),
    )
  }

  #cut(count: number, bytes: number): void {
    if (this.#lanes.ready === 0) return
    const batch = this.#lanes.cut(count, bytes)
    assert.ok(batch.length >= 1 && batch.length <= count)
    const size = batch.reduce((sum, { delivery }) => sum + delivery.body.length, 0)
    assert.ok(size <= bytes || batch.length === 1)
    const busy = new Set(this.#flying.flat().map(keyOf))
    for (const received of batch) {
      assert.equal(busy.has(keyOf(received)), false, 'a lane is in two batches')
      assert.equal(this.#waiting.has(keyOf(received)), false, 'a waiting lane was cut')
    }
    this.#flying.push(batch)
  }

  /** Of each lane in the batch, `through` messages get through, the others come back. */
  #end(index: number, through: number): void {
    const [batch] = this.#flying.splice(index % Math.max(1, this.#flying.length), 1)
    if (batch === undefined) return
    for (const [key, messages] of Map.groupBy(batch, keyOf)) {
      for (const received of messages.slice(0, through)) {
        assert.equal(received.id, this.#pending.get(key)!.shift(), `order of ${key}`)
      }
      const back = messages.slice(through)
      if (back.length === 0) continue
      this.#lanes.hold(back)
      this.#waiting.set(key, back[0]!)
    }
    this.#lanes.release(batch)
  }

  #resume(key: string | undefined): void {
    const head = key === undefined ? undefined : this.#waiting.get(key)
    if (head === undefined) return
    this.#waiting.delete(key!)
    this.#lanes.resume(head)
  }

  get #unfinished(): boolean {
    return this.#lanes.ready > 0 || this.#flying.length > 0 || this.#waiting.size > 0
  }

  #flush(): void {
    for (const key of [...this.#waiting.keys()]) this.#resume(key)
    this.#cut(5, 100)
    while (this.#flying.length > 0) this.#end(0, 100)
  }
}
