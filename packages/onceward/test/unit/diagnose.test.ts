import assert from 'node:assert/strict'
import { test } from 'node:test'
import { diagnose } from '../../src/stores/postgres/diagnose.ts'

test('a session the server ended for its time limits is no fault of a statement', () => {
  for (const code of ['25P03', '25P04', '57P05'])
    assert.equal(diagnose(Object.assign(new Error('terminating connection'), { code })), 'unavailable', code)
})
