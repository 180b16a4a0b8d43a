import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allCells, cellName, readCells } from '../cell.ts'
import { missingIn, planFaults, tracks } from './faults.ts'
import { planMessages } from './messages.ts'

const everything = { disk: null, clock: null }
const request = { seed: 7, produceMs: 120_000, short: false }

test('a seed repeats its messages and its faults, another seed does not', () => {
  for (const cell of allCells) {
    const name = cellName(cell)
    const messages = (seed: number) => planMessages(300, seed, cell.source)
    assert.deepEqual(messages(7), messages(7), name)
    assert.notDeepEqual(messages(7), messages(8), name)
    const faults = (seed: number) => planFaults(cell, { ...request, seed }, everything)
    assert.deepEqual(faults(7), faults(7), name)
    assert.notDeepEqual(faults(7), faults(8), name)
  }
})

test('every kind of fault is planned in two minutes wherever a cell can have it', () => {
  for (const cell of allCells) {
    const plan = planFaults(cell, request, everything)
    for (const track of ['processes', 'servers', 'people'] as const) {
      const possible = tracks[track].filter(kind => missingIn(cell, kind, everything) === null)
      const planned = new Set(plan[track].map(({ kind }) => kind))
      assert.deepEqual(
        [...possible].filter(kind => !planned.has(kind)),
        [],
        `${cellName(cell)} ${track}`,
      )
    }
  }
})

test('faults follow progress, a standby is promoted once and not cut afterwards', () => {
  const { servers } = planFaults({ source: 'kafka', database: 'standby' }, request, everything)
  assert.deepEqual(
    servers.map(({ at }) => at),
    servers.map(({ at }) => at).sort((a, b) => a - b),
  )
  assert.equal(servers.filter(({ kind }) => kind === 'promote standby').length, 1)
  const promoted = servers.findIndex(({ kind }) => kind === 'promote standby')
  assert.equal(
    servers.slice(promoted).some(({ kind }) => kind === 'cut standby'),
    false,
  )
})

test('sequences of a key rise, and foreign producers send what they should', () => {
  const messages = planMessages(600, 3, 'kafka')
  const last = new Map<string, number>()
  for (const { kind, key, sequence } of messages) {
    if (!['first', 'failing', 'rejected'].includes(kind)) continue
    assert.ok(sequence > (last.get(key!) ?? 0))
    last.set(key!, sequence)
  }
  const kinds = Map.groupBy(messages, ({ kind }) => kind)
  for (const kind of [
    'failing',
    'rejected',
    'duplicate',
    'resent',
    'conflict',
    'hostile',
    'aborted',
  ] as const)
    assert.ok((kinds.get(kind)?.length ?? 0) > 0, kind)
  assert.equal(
    planMessages(600, 3, 'postgres').some(({ kind }) => kind === 'aborted'),
    false,
  )
})

test('cells are chosen by name, source or database', () => {
  assert.deepEqual(readCells('kafka/standby').map(cellName), ['kafka/standby'])
  assert.equal(readCells('quorum,standby').length, 6)
  assert.throws(() => readCells('nats'), /no cell nats/)
})
