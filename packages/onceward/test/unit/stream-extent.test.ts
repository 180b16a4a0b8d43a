import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { confirmExtent, confirmGone } from '../../src/drivers/rabbitmq-stream/confirm-extent.ts'
import { type Extent, toExtent } from '../../src/drivers/rabbitmq-stream/extent.ts'

const extent = (
  firstChunk: number,
  committedChunk: number,
  records = 1,
  lastChunk = committedChunk,
): Extent =>
  toExtent(
    { firstChunk, committedChunk, lastChunk },
    committedChunk < 0 ? null : { firstOffset: committedChunk, records },
  )
const recovering = extent(0, -1, 1, 14_500)
const unknown = extent(-1, -1)
const full = extent(0, 14_500, 54)

/** Gives one answer after the other, the last one for ever, on a clock that only pauses move. */
function scripted(...answers: readonly Extent[]) {
  let nowMs = 0
  const asked: boolean[] = []
  const timing = {
    everyMs: 200,
    steadyMs: 3_000,
    unservedMs: 10_000,
    nowMs: () => nowMs,
    pause: async (ms: number) => {
      nowMs += ms
    },
  }
  const ask = async (again: boolean) => {
    asked.push(again)
    return answers[Math.min(asked.length, answers.length) - 1]!
  }
  return { ask, asked, timing, stream: 's', marked: true, tookMs: () => nowMs }
}
const unproved = async () => {
  throw new Error('another leader')
}
const reaches = (position: number) => ({ fits: ({ end }: Extent) => position <= end })

describe("a stream's extent", () => {
  test('that has the position is accepted at once', async () => {
    const script = scripted(full)
    assert.equal(await confirmExtent({ ...script, ...reaches(14_554) }), full)
    assert.deepEqual(script.asked, [false])
  })

  for (const [what, answers] of [
    ['a surviving replica that says first 0, end 0 for a second', [recovering, recovering, recovering, full]],
    ['a node that knows of no chunk yet', [unknown, unknown, full]],
    ['a replica that catches up', [extent(0, 8_000), extent(0, 12_000), full]],
  ] as const) {
    test(`is requested again: ${what}`, async () => {
      const script = scripted(...answers)
      assert.equal((await confirmExtent({ ...script, ...reaches(14_554) })).end, 14_554)
      assert.equal(script.asked.length, answers.length)
      assert.ok(script.asked.slice(1).every(Boolean), 'the leader is asked from the second time on')
    })
  }

  test('of a leader that does not serve all it has is never accepted', async () => {
    const behind = extent(0, 4_999, 1, 14_500)
    await assert.rejects(confirmExtent({ ...scripted(behind), ...reaches(14_554) }), /still recovering/)
    const script = scripted(...Array.from({ length: 25 }, () => behind), full)
    assert.equal(await confirmExtent({ ...script, ...reaches(14_554), prove: unproved }), full)
  })

  test('that ends before the position is accepted when the leader has proved that it still leads', async () => {
    const short = extent(0, 4_999)
    let proofs = 0
    const prove = async () => void proofs++
    const script = scripted(short, short)
    assert.equal(await confirmExtent({ ...script, ...reaches(14_554), prove }), short)
    assert.deepEqual([script.asked, proofs], [[false, true], 1])
    const { asked, ...refused } = scripted(short)
    await assert.rejects(confirmExtent({ ...refused, ...reaches(14_554), prove: unproved }), /another leader/)
  })

  test('that grows past the position while it is requested still ends before it', async () => {
    const growing = Array.from({ length: 40 }, (_, index) =>
      extent(0, 4_999 + index * 500, 1, 5_400 + index * 500),
    )
    const found = await confirmExtent({ ...scripted(...growing), ...reaches(14_554), prove: async () => {} })
    assert.ok(found.end < 7_000, `${found.end}`)
  })

  test('is accepted without a proof after three seconds', async () => {
    const script = scripted(recovering, extent(0, 4_999))
    assert.equal((await confirmExtent({ ...script, ...reaches(14_554) })).end, 5_000)
    assert.ok(script.tookMs() <= 4_000, `${script.tookMs()} ms`)
  })

  test('that is never served is a retriable error', async () => {
    for (const answer of [recovering, unknown])
      await assert.rejects(confirmExtent({ ...scripted(answer), ...reaches(8_705) }), /still recovering/)
  })

  test('of a stream without a mark may be empty', async () => {
    assert.equal(await confirmExtent({ ...scripted(unknown), marked: false, ...reaches(0) }), unknown)
    const script = scripted(recovering, full)
    assert.equal(
      await confirmExtent({ ...script, marked: false, ...reaches(0) }),
      full,
      'chunks are no emptiness',
    )
  })

  test('counts every record of the newest chunk', () => {
    assert.equal(full.end, 14_554)
    const stats = { firstChunk: 0, committedChunk: 20, lastChunk: 20 }
    const offsetsOfItsOwn = toExtent(stats, { firstOffset: 10, records: 5 })
    assert.deepEqual([offsetsOfItsOwn.end, offsetsOfItsOwn.recordsEnd], [21, 15])
  })

  test('is incomplete where the newest committed chunk was not seen: it may have many records', () => {
    const seen = { firstOffset: 10, records: 5 }
    const isWhole = (committedChunk: number, lastChunk: number, newest: typeof seen | null) =>
      toExtent({ firstChunk: 0, committedChunk, lastChunk }, newest).whole
    assert.equal(isWhole(20, 10, seen), false, 'a replica that has not got it')
    assert.equal(isWhole(20, 30, null), false, 'nothing is served while more is written')
    assert.equal(isWhole(20, 30, { firstOffset: 20, records: 7 }), true)
    assert.equal(isWhole(20, 20, null), true, "a chunk of the broker's own")
  })

  test('a missing stream is reported after three seconds', async () => {
    const { timing, tookMs } = scripted()
    assert.equal(
      await confirmGone(
        async () => null,
        one => one === null,
        timing,
      ),
      null,
    )
    assert.equal(tookMs(), 3_000)
    let asked = 0
    assert.equal(
      await confirmGone(
        async () => (++asked < 3 ? null : 'mark'),
        one => one === null,
        timing,
      ),
      'mark',
    )
  })
})
