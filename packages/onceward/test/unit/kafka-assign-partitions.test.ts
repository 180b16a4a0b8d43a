import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  assignPartitions,
  type JoinedMember,
  type TopicPartitions,
} from '../../src/drivers/kafka/client/assign-partitions.ts'

const member = (id: string, owned: readonly number[] = [], generation = 1, topics = ['t']): JoinedMember => ({
  id,
  topics,
  owned: owned.length === 0 ? [] : [{ topic: 't', partitions: owned }],
  generation: owned.length === 0 ? -1 : generation,
})

const plain = (given: ReadonlyMap<string, readonly TopicPartitions[]>) =>
  Object.fromEntries([...given].map(([id, topics]) => [id, topics.flatMap(({ partitions }) => partitions)]))

const assign = (members: readonly JoinedMember[], count: number) =>
  plain(assignPartitions(members, new Map([['t', count]])))

describe('cooperative-sticky assignment', () => {
  test('a first round shares everything out', () => {
    assert.deepEqual(assign([member('a'), member('b')], 4), { a: [0, 2], b: [1, 3] })
  })

  test('a moving partition is assigned to no member until its holder has released it', () => {
    const first = assign([member('a', [0, 1, 2, 3]), member('b')], 4)
    assert.equal(first.a!.length, 2)
    assert.deepEqual(first.b, [])
    const second = assign([member('a', first.a), member('b')], 4)
    assert.deepEqual(second.a, first.a)
    assert.equal(second.b!.length, 2)
  })

  test('a new member gets a partition although no member has more than the average rounded up', () => {
    const first = assign([member('a', [0, 1]), member('b', [2, 3]), member('c')], 4)
    const second = assign([member('a', first.a), member('b', first.b), member('c')], 4)
    assert.equal(second.c!.length, 1)
  })

  test('of two members that claim a partition the later generation keeps it, once the other has released it', () => {
    const contested = assign([member('a', [0], 2), member('b', [0], 1)], 1)
    assert.deepEqual(contested, { a: [], b: [] })
    assert.deepEqual(assign([member('a', [0], 2), member('b')], 1), { a: [0], b: [] })
  })

  test('members get only topics they subscribe to', () => {
    const given = assignPartitions(
      [member('a', [], 1, ['t']), member('b', [], 1, ['u'])],
      new Map([
        ['t', 3],
        ['u', 1],
      ]),
    )
    assert.deepEqual(given.get('a'), [{ topic: 't', partitions: [0, 1, 2] }])
    assert.deepEqual(given.get('b'), [{ topic: 'u', partitions: [0] }])
  })

  test('for any joins and leaves: two rounds later each partition is assigned once, fairly, and none moved without need', () => {
    const step = fc.constantFrom('join', 'leave')
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), fc.array(step, { maxLength: 12 }), (count, steps) => {
        let held = new Map<string, readonly number[]>([['m0', []]])
        let generation = 0
        const round = () => {
          generation++
          const members = [...held].map(([id, owned]) => member(id, owned, generation - 1))
          const given = assign(members, count)
          const before = [...held.entries()].flatMap(([id, owned]) => owned.map(p => `${p} ${id}`))
          for (const [id, partitions] of Object.entries(given)) {
            for (const partition of partitions) {
              const holder = before.find(one => one.startsWith(`${partition} `))
              assert.ok(
                holder === undefined || holder === `${partition} ${id}`,
                'given while another holds it',
              )
            }
          }
          held = new Map(Object.entries(given))
        }
        steps.forEach((one, index) => {
          if (one === 'join') held.set(`m${index + 1}`, [])
          else if (held.size > 1) held.delete([...held.keys()][index % held.size]!)
          round()
        })
        round()
        round()
        const sizes = [...held.values()].map(({ length }) => length)
        assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1, `unfair: ${sizes}`)
        const all = [...held.values()].flat().sort((a, b) => a - b)
        assert.deepEqual(
          all,
          Array.from({ length: count }, (_, index) => index),
        )
        const steady = new Map(held)
        round()
        assert.deepEqual(held, steady, 'moved without need')
      }),
      { numRuns: 300 },
    )
  })
})
