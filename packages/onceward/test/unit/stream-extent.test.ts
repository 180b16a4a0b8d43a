import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { confirmExtent, confirmGone } from '../../src/sources/rabbitmq-stream/confirm-extent.ts'
import { type Extent, toExtent } from '../../src/sources/rabbitmq-stream/extent.ts'

const extent = (firstChunk: number, committedChunk: number, records = 1): Extent =>
  toExtent(
    { firstChunk, committedChunk },
    committedChunk < 0 ? null : { firstOffset: committedChunk, records },
  )
const recovering = extent(0, -1)
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
const reaches = (position: number) => ({ fits: ({ end }: Extent) => position <= end })

describe("a stream's extent", () => {
  test('that has the position is taken at once', async () => {
    const script = scripted(full)
    assert.equal(await confirmExtent({ ...script, ...reaches(14_554) }), full)
    assert.deepEqual(script.asked, [false])
  })

  for (const [what, answers] of [
    ['a surviving replica that says first 0, end 0 for a second', [recovering, recovering, recovering, full]],
    ['a node that knows of no chunk yet', [unknown, unknown, full]],
    ['a replica that catches up', [extent(0, 8_000), extent(0, 12_000), full]],
  ] as const) {
    test(`is asked for again: ${what}`, async () => {
      const script = scripted(...answers)
      assert.equal((await confirmExtent({ ...script, ...reaches(14_554) })).end, 14_554)
      assert.equal(script.asked.length, answers.length)
      assert.ok(script.asked.slice(1).every(Boolean), 'the leader is asked from the second time on')
    })
  }

  test('that moves is not steady, and counts once it stands still', async () => {
    const slowly = Array.from({ length: 30 }, (_, index) => extent(0, 100 + index))
    const script = scripted(...slowly)
    assert.equal((await confirmExtent({ ...script, ...reaches(14_554) })).end, 130)
    assert.ok(script.tookMs() >= 29 * 200 + 3_000)
  })

  test('that is served and short for three seconds is true: the end is lost', async () => {
    const script = scripted(recovering, extent(0, 4_999))
    assert.equal((await confirmExtent({ ...script, ...reaches(14_554) })).end, 5_000)
    assert.ok(script.tookMs() <= 4_000, `${script.tookMs()} ms`)
  })

  test('that is never served is no extent: it is an error to be tried again', async () => {
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
    const offsetsOfItsOwn = toExtent({ firstChunk: 0, committedChunk: 20 }, { firstOffset: 10, records: 5 })
    assert.deepEqual([offsetsOfItsOwn.end, offsetsOfItsOwn.recordsEnd], [21, 15])
  })

  test('what is missing is missing once it has been for three seconds', async () => {
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
