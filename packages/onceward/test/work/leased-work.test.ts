import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Delivery } from '../../src/ports/source.ts'
import { LeasedRows } from '../../src/work/leased-rows.ts'

const claim = (epoch: number) => ({ row: '7', epoch })
const delivery = (epoch: number) => ({ held: claim(epoch) }) as unknown as Delivery

describe('the leases of a worker', () => {
  it('the end of a lease does not end the next one of the same row', () => {
    const work = new LeasedRows()
    work.add([claim(1)])
    work.add([claim(2)])
    work.forget([claim(1)])
    assert.equal(work.has(claim(2)), true)
    work.lose([claim(1)])
    assert.deepEqual([work.has(claim(1)), work.has(claim(2))], [false, true])
  })

  it('a missing row is lost at the second check, one leased by another worker at the first', () => {
    const work = new LeasedRows()
    work.add([claim(1)])
    assert.equal(work.notOurs([{ ...claim(1), taken: false }]), 0)
    assert.equal(work.notOurs([{ ...claim(1), taken: false }]), 1)
    work.add([claim(2)])
    assert.equal(work.notOurs([{ ...claim(1), taken: true }]), 0)
    assert.equal(work.notOurs([{ ...claim(2), taken: true }]), 1)
  })

  it('notifies the watcher of a lost lease once, and not the watcher of another lease of the row', () => {
    const work = new LeasedRows()
    const told: string[] = []
    work.add([claim(2)])
    work.watch([delivery(1)], () => told.push('first'))
    work.watch([delivery(2)], () => told.push('second'))
    const end = work.watch([delivery(2)], () => told.push('ended'))
    end()
    work.lose([claim(2)])
    work.lose([claim(2)])
    assert.deepEqual(told, ['second'])
  })
})
