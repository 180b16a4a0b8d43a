import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DecidedHalt, mayBeOfMessage } from '../../src/engine/retry/halt-cause.ts'
import { OncewardError } from '../../src/errors.ts'

const coded = (code: string) => Object.assign(new Error(code), { code })

test('a halt for a cause that concerns every message is not blamed on those in flight', () => {
  for (const error of [
    new DecidedHalt('a class that halts'),
    new OncewardError('records_lost', ''),
    new OncewardError('server_changed', ''),
    new OncewardError('consumer_renamed', ''),
    coded('42P01'),
    coded('28P01'),
    coded('ECONNREFUSED'),
  ])
    assert.equal(mayBeOfMessage(error), false, String(error))
})

test('a halt without a known cause may be blamed on a message', () => {
  for (const error of [
    new TypeError('cannot read properties of undefined'),
    new OncewardError('consumer_halted', 'broken invariant: none'),
    coded('22P05'),
    'thrown text',
  ])
    assert.equal(mayBeOfMessage(error), true, String(error))
})
