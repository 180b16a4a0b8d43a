import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { AckTracker } from '../../src/drivers/rabbitmq/ack-tracker.ts'

/** What a broker does with acks: forgets tags, and closes the channel on one it does not know. */
class BrokerModel {
  readonly outstanding = new Set<number>()
  readonly forgotten: number[] = []

  ack(tag: number, upTo: boolean): void {
    assert.ok(this.outstanding.has(tag), `unknown delivery tag ${tag}`)
    const gone = upTo ? [...this.outstanding].filter(one => one <= tag) : [tag]
    for (const one of gone) {
      this.outstanding.delete(one)
      this.forgotten.push(one)
    }
  }
}

const deliverOrSettle = fc.array(
  fc.oneof(
    fc.record({ deliver: fc.integer({ min: 1, max: 20 }) }),
    fc.record({ settle: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 20 }) }),
  ),
  { maxLength: 60 },
)

test('an ack never covers an unsettled tag, and every settled tag is acked exactly once', () => {
  fc.assert(
    fc.property(deliverOrSettle, steps => {
      const broker = new BrokerModel()
      const tracker = new AckTracker()
      const unsettled: number[] = []
      const settled = new Set<number>()
      let lastTag = 0
      for (const step of steps) {
        if ('deliver' in step) {
          for (let i = 0; i < step.deliver; i++) {
            broker.outstanding.add(++lastTag)
            tracker.arrived(lastTag)
            unsettled.push(lastTag)
          }
          continue
        }
        const tags = step.settle.flatMap(at => unsettled.splice(at % (unsettled.length || 1), 1))
        for (const tag of tags) settled.add(tag)
        for (const { tag, upTo } of tracker.settle(tags)) broker.ack(tag, upTo)
        assert.deepEqual(new Set(broker.forgotten), settled)
        assert.equal(broker.forgotten.length, settled.size)
      }
    }),
    { numRuns: 500 },
  )
})

test('a batch settled in any order is one acknowledgement once nothing older is unsettled', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 200 }), fc.infiniteStream(fc.nat()), (size, order) => {
      const tags = Array.from({ length: size }, (_, i) => i + 1)
      const shuffled = tags
        .map(tag => ({ tag, at: order.next().value as number }))
        .sort((a, b) => a.at - b.at)
      const settled = trackerOf(size).settle(shuffled.map(({ tag }) => tag))
      assert.deepEqual(settled, [{ tag: size, upTo: true }])
    }),
  )
})

test('after an unsettled tag every acknowledgement is a single one', () => {
  const tracker = trackerOf(5)
  assert.deepEqual(tracker.settle([3, 2]), [
    { tag: 3, upTo: false },
    { tag: 2, upTo: false },
  ])
  assert.deepEqual(tracker.settle([1]), [{ tag: 1, upTo: false }])
  assert.deepEqual(tracker.settle([4, 5]), [{ tag: 5, upTo: true }])
})

test('a tag settled twice is acknowledged once', () => {
  const tracker = trackerOf(3)
  tracker.settle([1, 3])
  assert.deepEqual(tracker.settle([1, 3, 3]), [])
})

test('remembers only what is unsettled, however much was settled behind it', () => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const tracker = trackerOf(1)
  const heap = () => {
    gc()
    return process.memoryUsage().heapUsed
  }
  const before = heap()
  for (let tag = 2; tag < 500_000; tag++) {
    tracker.arrived(tag)
    assert.equal(tracker.settle([tag])[0]!.upTo, false)
  }
  const grown = heap() - before
  assert.ok(grown < 2_000_000, `${grown} bytes for nothing`)
  assert.deepEqual(tracker.settle([1]), [{ tag: 1, upTo: false }])
})

function trackerOf(tags: number): AckTracker {
  const tracker = new AckTracker()
  for (let tag = 1; tag <= tags; tag++) tracker.arrived(tag)
  return tracker
}
