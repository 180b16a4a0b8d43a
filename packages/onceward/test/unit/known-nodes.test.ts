import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { KnownNodes } from '../../src/drivers/rabbitmq-stream/known-nodes.ts'

function three() {
  const clock = { nowMs: 0 }
  const nodes = new KnownNodes(() => clock.nowMs)
  nodes.add(['a', 'b', 'c'])
  return { nodes, clock }
}

describe('the nodes of a stream', () => {
  test('are reached by the address while all is well', () => {
    assert.deepEqual(three().nodes.takeDetours(), [])
  })

  test('are reached by the others when one failed', () => {
    const { nodes } = three()
    nodes.failed('b')
    assert.deepEqual(nodes.takeDetours(), ['a', 'c'])
    assert.deepEqual(nodes.preferred(['b', 'c']), ['c'])
    assert.deepEqual(nodes.preferred(['b']), ['b'], 'better than none')
  })

  test('are reached by the address again when it works, after a while, and when each has failed', () => {
    const { nodes, clock } = three()
    nodes.failed('b')
    nodes.served('b')
    assert.deepEqual(nodes.takeDetours(), [])
    nodes.failed('b')
    clock.nowMs += 60_001
    assert.deepEqual(nodes.takeDetours(), [])
    for (const node of ['a', 'b', 'c']) nodes.failed(node)
    assert.deepEqual(nodes.takeDetours(), [])
    nodes.failed('a')
    assert.deepEqual(nodes.takeDetours(), ['b', 'c'], 'a new round')
  })
})
