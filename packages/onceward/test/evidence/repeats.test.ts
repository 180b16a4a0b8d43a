import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, mock } from 'node:test'
import { RepeatNotes } from '../../src/drivers/postgres/sql/note-repeats.ts'
import type { Enrolment } from '../../src/ports/enrolment.ts'

const enrolment = { consumerId: 1, runId: 7 } as Enrolment
const ids = (count: number, prefix = 'm') => Array.from({ length: count }, (_, n) => `${prefix}-${n}`)

describe('repeats are noted beside the batches', () => {
  let writes: { ids: string[]; times: number[] }[]
  let fails: boolean
  const client = {
    async query(_text: string, values?: readonly unknown[]) {
      const [, , some, times] = values as [number[], number[], string[], number[]]
      writes.push({ ids: some, times })
      if (fails) throw new Error('the database is away')
      return { rows: [], rowCount: some.length }
    },
  }
  const answered = () => new Promise<void>(resolve => setImmediate(resolve))

  beforeEach(() => {
    writes = []
    fails = false
    mock.timers.enable({ apis: ['setTimeout'] })
  })
  afterEach(() => mock.timers.reset())

  it('the first at once, more after a pause, and each id once with its count', async () => {
    const notes = new RepeatNotes(client)
    notes.add(enrolment, ['a', 'a', 'b'])
    notes.add(enrolment, ['c', 'a'])
    notes.add(enrolment, ['c'])
    assert.deepEqual(writes, [{ ids: ['a', 'b'], times: [2, 1] }])
    await answered()
    mock.timers.tick(999)
    assert.equal(writes.length, 1)
    mock.timers.tick(1)
    assert.deepEqual(writes[1], { ids: ['c', 'a'], times: [2, 1] })
  })

  it('a storm costs one write of a thousand a second', async () => {
    const notes = new RepeatNotes(client)
    for (let batch = 0; batch < 100; batch++) notes.add(enrolment, ids(500, `batch-${batch}`))
    await answered()
    mock.timers.tick(1_000)
    assert.deepEqual(
      writes.map(write => write.ids.length),
      [500, 1_000],
    )
  })

  it('waiting notes are written when the run closes', async () => {
    const notes = new RepeatNotes(client)
    notes.add(enrolment, ['a'])
    notes.add(enrolment, ['b'])
    await notes.flush()
    assert.deepEqual(
      writes.map(write => write.ids),
      [['a'], ['b']],
    )
    await notes.flush()
    assert.equal(writes.length, 2)
  })

  it('an unavailable database loses the notes only', async () => {
    fails = true
    const notes = new RepeatNotes(client)
    notes.add(enrolment, ['a'])
    await answered()
    notes.add(enrolment, ['b'])
    fails = false
    await notes.flush()
    assert.deepEqual(writes.at(-1)!.ids, ['b'])
  })
})
