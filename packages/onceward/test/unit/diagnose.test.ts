import assert from 'node:assert/strict'
import { test } from 'node:test'
import { diagnose } from '../../src/drivers/postgres/diagnose.ts'

test('a session that the server ended by a time limit is not a statement error', () => {
  for (const code of ['25P03', '25P04', '57P05'])
    assert.equal(diagnose(Object.assign(new Error('terminating connection'), { code })), 'unavailable', code)
})

test('a statement that contains the word alert is not a TLS error', () => {
  const error = (code: string, message: string) => diagnose(Object.assign(new Error(message), { code }))
  assert.equal(
    error('23514', 'new row for relation "alert" violates check constraint "alert_check"'),
    'statement',
  )
  assert.notEqual(error('40001', 'could not serialize access to table alert'), 'configuration')
  assert.notEqual(error('ENOTFOUND', 'getaddrinfo ENOTFOUND db.alert.internal'), 'configuration')
  assert.equal(
    error('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'tlsv13 alert certificate required'),
    'configuration',
  )
})
