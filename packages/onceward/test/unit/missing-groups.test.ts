import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ConsumerContract, defineConsumer } from 'onceward'
import { MemoryLog, MemoryQueue } from 'onceward/memory'
import { assertKeepable } from '../../src/engine/consumer/assert-keepable.ts'
import type { Source } from '../../src/ports/source.ts'
import type { Store } from '../../src/ports/store.ts'

interface Note {
  readonly id: string
  readonly part: string
}

/** The required core of the store port and no optional group. */
const core: Store<unknown> = {
  capabilities: { durable: true, shared: true, sql: false, concurrent: true },
  enroll: () => Promise.reject(new Error('unused')),
  closeRun: () => Promise.resolve(),
  transaction: () => Promise.reject(new Error('unused')),
  ping: () => Promise.resolve(),
  diagnose: () => 'statement',
}

function refusal(changes: Partial<ConsumerContract<Note, unknown>>, source: Source = new MemoryQueue()) {
  const consumer = defineConsumer<Note, unknown>({
    name: 'notes',
    owner: 'unit',
    risk: 'low value',
    source: { kind: 'memory' },
    identity: { id: note => note.id },
    handle() {},
    ...changes,
  })
  try {
    assertKeepable(consumer, source, core)
    return null
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'configuration')
    return (error as Error).message
  }
}

test('a store of required members alone serves an unordered consumer of a queue', () => {
  assert.equal(refusal({}), null)
})

test('a contract that needs a missing group of the store is refused at start, and the group is named', () => {
  const byKey = { id: (note: Note) => note.id, orderKey: (note: Note) => note.part }
  const business = { id: (note: Note) => note.id, businessKey: (note: Note) => note.part }
  const publish = { out: { broker: 'kafka', topic: 'out' } } as const
  assert.match(
    refusal({}, new MemoryLog({ partitions: 1 }))!,
    /no positions \(checkpoints\)\. Nothing was started/,
  )
  assert.match(refusal({ order: 'key', identity: byKey })!, /blocked keys \(keyOrder\)\. Nothing was started/)
  assert.match(refusal({ identity: business })!, /no business keys \(businessKeys\)\. Nothing was started/)
  assert.match(refusal({ evidence: { receipts: true } })!, /no receipts \(receipts\)\. Nothing was started/)
  assert.match(refusal({ effect: { publish } })!, /no ledger \(outgoing\)\. Nothing was started/)
  assert.match(refusal({ inbox: { mode: 'stored' } })!, /cannot store work\. Nothing was started/)
})
