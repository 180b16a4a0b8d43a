import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { RecentEnds } from '../../src/drivers/kafka/client/recent-ends.ts'

const place = { topic: 't', partition: 0 }

describe('the last transactions of a producer', () => {
  test('are distinguished by the offset of their first record', () => {
    const ends = new RecentEnds()
    ends.sent('t', 0)
    ends.stored('t', 0, 10n)
    ends.stored('t', 0, 12n)
    ends.end('committed')
    ends.sent('t', 0)
    ends.end('aborted')
    assert.equal(ends.outcomeOf(place, 10n), 'committed')
    assert.equal(ends.outcomeOf(place, 14n), 'aborted')
    assert.deepEqual(
      ends.places().map(({ topic, partition }) => ({ topic, partition })),
      [place],
    )
  })

  test('leave an outcome open that was not answered', () => {
    const ends = new RecentEnds()
    ends.sent('t', 0)
    ends.stored('t', 0, 10n)
    ends.end(null)
    assert.equal(ends.outcomeOf(place, 10n), null)
    assert.equal(ends.outcomeOf(place, 99n), null)
  })

  test('are two: one without records does not displace another', () => {
    const ends = new RecentEnds()
    for (const partition of [0, 1, 2]) {
      ends.sent('t', partition)
      ends.stored('t', partition, 5n)
      ends.end('committed')
      ends.end('committed')
    }
    assert.deepEqual(
      ends.places().map(({ partition }) => partition),
      [1, 2],
    )
    ends.forget()
    assert.equal(ends.isEmpty, true)
  })

  test('may be open in a partition until a record of the next one is stored in the same partition', () => {
    const ends = new RecentEnds()
    for (const partition of [0, 1]) ends.sent('t', partition)
    ends.end('committed')
    for (const partition of [0, 1, 2]) ends.sent('t', partition)
    ends.stored('t', 1, 7n)
    assert.deepEqual(
      [0, 1, 2].map(partition => ends.mayBeOpen('t', partition)),
      [true, false, false],
    )
  })

  test('end the offsets of a group only if all of them ended the same way', () => {
    const ends = new RecentEnds()
    const end = (group: string, outcome: 'committed' | 'aborted' | null) => {
      ends.sentOffsets(group)
      ends.end(outcome)
    }
    end('committed', 'aborted')
    for (const group of ['committed', 'committed', 'mixed', 'unanswered']) end(group, 'committed')
    end('mixed', 'aborted')
    end('unanswered', null)
    end('aborted', 'aborted')
    assert.equal(ends.isEmpty, false)
    assert.deepEqual(ends.groups(), [
      { group: 'committed', outcome: 'committed' },
      { group: 'aborted', outcome: 'aborted' },
    ])
    ends.forget()
    assert.deepEqual([ends.groups(), ends.isEmpty], [[], true])
  })
})
