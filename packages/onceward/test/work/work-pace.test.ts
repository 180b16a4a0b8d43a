import assert from 'node:assert/strict'
import { it } from 'node:test'
import { WorkPace } from '../../src/work/work-pace.ts'

it('the rate of work is that of the last fifth of a second, and a pause resets it', () => {
  const pace = new WorkPace()
  assert.equal(pace.perSecond(1_000), 0)
  pace.done(50, 1_010)
  pace.done(50, 1_150)
  assert.equal(pace.perSecond(1_199), 0, 'not known before the fifth is over')
  assert.equal(pace.perSecond(1_200), 500)
  assert.equal(pace.perSecond(1_399), 500)
  assert.equal(pace.perSecond(1_400), 0)
  pace.done(100, 1_500)
  assert.equal(pace.perSecond(11_400), 10, 'over all the time since')
  assert.equal(pace.perSecond(5), 0, 'a clock that goes back begins anew')
})
