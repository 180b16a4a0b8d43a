import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Evidence, SentMessage } from './evidence.ts'
import { isClean, isQuiet, judge, type Verdict } from './judge.ts'

const sent = (kind: SentMessage['kind'], id: string, more: Partial<SentMessage> = {}): SentMessage => ({
  ...{ kind, id, request: `request-of-${id}`, key: 'key-1', sequence: 1, amount: 5, place: 0 },
  digest: `${kind}-${id}`,
  ...more,
})
const applied = (id: string, more: object = {}) => ({
  ...{ place: 1, id, request: `request-of-${id}`, key: 'key-1', sequence: 1, amount: 5 },
  ...more,
})
const call = (id: string, more: object = {}) => ({
  ...{ key: `key-of-${id}`, digest: 'd', id, request: `request-of-${id}`, charged: true },
  ...more,
})

const rejected = sent('rejected', 'r')
const conflict = sent('conflict', 'a', { amount: 1_005 })

/** One message that was applied, one that was rejected, one that conflicts: everything is where it belongs. */
const clean: Evidence = {
  sending: [sent('first', 'a'), rejected, conflict],
  confirmed: [sent('first', 'a'), rejected, conflict],
  applications: [applied('a')],
  totals: [{ key: 'key-1', amount: 5, times: 1 }],
  markers: [
    { id: 'a', status: 'applied' },
    { id: 'r', status: 'dead' },
  ],
  held: [
    { id: 'r', digest: rejected.digest, state: 'dead' },
    { id: 'a', digest: conflict.digest, state: 'quarantined' },
  ],
  closed: [],
  notes: [{ id: 'r', code: 'dead', detail: 'reject: not acceptable' }],
  outbox: 0,
  oldMarkers: 0,
  ledger: [{ id: 'a', state: 'completed' }],
  calls: [call('a')],
  copies: [{ id: 'copy-1', of: 'a' }],
  deadLetters: [
    { id: 'dead-1', of: 'r' },
    { id: 'dead-2', of: 'a' },
  ],
  depth: 0,
  halts: [],
  late: [],
}

const twoApplied: Partial<Evidence> = {
  sending: [sent('first', 'a'), sent('first', 'b', { sequence: 2 })],
  confirmed: [sent('first', 'a'), sent('first', 'b', { sequence: 2 })],
}

const halt = { at: '', instance: 'consumer-1', text: '', code: 'server_changed' }

const broken: Readonly<Record<string, readonly [keyof Verdict, RegExp, Partial<Evidence>]>> = {
  'a message without a trace': [
    'lost',
    /^b \(first/,
    { confirmed: [...clean.confirmed, sent('first', 'b')] },
  ],
  'a conflict that was dropped': ['lost', /conflict/, { held: clean.held.slice(0, 1) }],
  'hostile bytes that were dropped': [
    'lost',
    /hostile/,
    { confirmed: [...clean.confirmed, sent('hostile', 'x', { id: null, request: null })] },
  ],
  'two rows for one request': ['doubled', /2 times/, { applications: [applied('a'), applied('a')] }],
  'an increment without a row': [
    'doubled',
    /not the sum/,
    { totals: [{ key: 'key-1', amount: 10, times: 2 }] },
  ],
  'two keys for one charge': ['doubled', /several keys/, { calls: [call('a'), call('a', { key: 'other' })] }],
  'other bytes under one key': [
    'doubled',
    /different bytes/,
    { calls: [call('a'), call('a', { digest: 'other' })] },
  ],
  'two publications': ['doubled', /several ids/, { copies: [...clean.copies!, { id: 'copy-2', of: 'a' }] }],
  'a step back': [
    'outOfOrder',
    /a \(1\) was applied after b \(2\)/,
    { ...twoApplied, applications: [applied('b', { sequence: 2 }), applied('a')] },
  ],
  'a halt without a cause': [
    'unexplained',
    /consumer-1 halted/,
    { halts: [{ ...halt, code: 'consumer_halted' }] },
  ],
  'a failover that did not happen': ['unexplained', /server_changed/, { halts: [halt] }],
  'a process that does not end': ['unexplained', /worker/, { late: ['worker-1 ended with null'] }],
  'an application without a marker': ['unexplained', /no marker/, { markers: [] }],
  'a marker without an application': [
    'unexplained',
    /b has a marker/,
    { markers: [...clean.markers, { id: 'b', status: 'applied' }] },
  ],
  'a message of an aborted transaction': [
    'unexplained',
    /not to be applied/,
    {
      sending: [...clean.sending, sent('aborted', 'z')],
      applications: [applied('a'), applied('z', { sequence: 2 })],
    },
  ],
  'a message that was parked for nothing': [
    'unexplained',
    /without a cause/,
    {
      notes: [{ id: 'a', code: 'parked', detail: 'XX000: why' }],
      confirmed: clean.confirmed.slice(0, 2),
      sending: clean.sending.slice(0, 2),
      held: clean.held.slice(0, 1),
    },
  ],
  'a message that is still parked': [
    'unexplained',
    /still parked/,
    { held: [...clean.held, { id: 'b', digest: 'x', state: 'parked' }] },
  ],
  'a message at the source': ['unexplained', /left at the source/, { depth: 1 }],
  'an outbox row that was never sent': ['unexplained', /outbox/, { outbox: 1 }],
  'an intent that was never requested': ['unexplained', /never requested/, { calls: [] }],
  'an effect that is not completed': [
    'unexplained',
    /is unknown/,
    { ledger: [{ id: 'a', state: 'unknown' }] },
  ],
  'an application without an intent': ['unexplained', /no row in the ledger/, { ledger: [] }],
  'a charge without an application': ['unexplained', /was charged/, { calls: [call('a'), call('b')] }],
  'a dead letter without a copy': [
    'unexplained',
    /2 dead letters have 1 copies/,
    { deadLetters: [clean.deadLetters![0]!, clean.deadLetters![0]!] },
  ],
  'an application that was never published': ['unexplained', /never published/, { copies: [] }],
  'a publication without an application': [
    'unexplained',
    /published and not applied/,
    { copies: [...clean.copies!, { id: 'copy-2', of: 'b' }] },
  ],
}

describe('the oracle of chaos', () => {
  test('finds nothing where everything is in its place', () => {
    assert.equal(isClean(judge(clean, new Set())), true)
    assert.equal(isQuiet(clean), true)
  })

  for (const [name, [verdict, what, changed]] of Object.entries(broken))
    test(`reports ${name} as ${verdict}`, () => {
      const found = judge({ ...clean, ...changed }, new Set())
      assert.ok(
        found[verdict].some(one => what.test(one)),
        JSON.stringify(found),
      )
    })

  test('knows a failover that was staged, and a message that an operator closed', () => {
    assert.equal(isClean(judge({ ...clean, halts: [halt] }, new Set(['promote standby']))), true)
    const skipped = sent('failing', 'f')
    const closed = { ...clean, confirmed: [...clean.confirmed, skipped], closed: [{ id: 'f', digest: '' }] }
    assert.equal(isClean(judge(closed, new Set())), true)
  })

  test('is not quiet while work is left', () => {
    for (const left of [{ outbox: 1 }, { depth: 3 }, { ledger: [{ id: 'a', state: 'pending' }] }])
      assert.equal(isQuiet({ ...clean, ...left }), false, JSON.stringify(left))
  })
})
