import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePorts } from './free-ports.ts'

test('ports of a server that is not running are given to no other one', async () => {
  const first = new Set(await freePorts(300))
  const second = await freePorts(300)
  assert.deepEqual(
    second.filter(port => first.has(port)),
    [],
  )
})
