import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { WriteTurns } from '../../src/effects/projection/write-turns.ts'

const keys = (...names: string[]) => names.map(name => ({ name, parts: [name], facts: [] }))

describe('batches that write the same projection', () => {
  it('wait for those before them that have one of their keys, and for no others', async () => {
    const turns = new WriteTurns()
    const began: string[] = []
    const take = (batch: string, ...names: string[]) =>
      turns.take(keys(...names)).then(end => {
        began.push(batch)
        return end
      })
    const first = take('first', 'a', 'b')
    const second = take('second', 'b', 'c')
    const third = take('third', 'c')
    const other = take('other', 'd')
    await other
    assert.deepEqual(began, ['first', 'other'])
    ;(await first)()
    const endSecond = await second
    assert.deepEqual(began, ['first', 'other', 'second'])
    endSecond()
    ;(await third)()
    ;(await take('fourth', 'a', 'c'))()
    assert.deepEqual(began, ['first', 'other', 'second', 'third', 'fourth'])
  })
})
