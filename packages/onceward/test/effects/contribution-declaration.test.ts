import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type ContributionDeclaration, contribution, defineConsumer } from 'onceward'
import { skipWithout } from '../services/services.ts'
import { contractOf, type Minutes } from './declared-contracts.ts'
import { DeclaredRig } from './declared-rig.ts'

const declared: ContributionDeclaration<Minutes> = {
  facts: 'minutes_fact',
  summary: 'minutes_window',
  window: { sizeMs: 60_000, latenessMs: 0, late: 'stale' },
  at: m => m.at,
  key: m => m.team,
  eventId: m => m.eventId,
  values: { minutes: m => m.minutes },
}
const define = (changes: object) =>
  defineConsumer(contractOf(contribution({ ...declared, ...changes }), { kind: 'memory' }, 'wrong'))

describe('a contribution that is declared wrong is refused before anything starts', () => {
  for (const [what, changes, says] of [
    ['no event time', { at: undefined }, /effect\.apply\.at: is missing: windows use event time/],
    ['no size', { window: { latenessMs: 0, late: 'stale' } }, /effect\.apply\.window\.sizeMs: is missing/],
    [
      'no tolerance',
      { window: { sizeMs: 1, late: 'stale' } },
      /effect\.apply\.window\.latenessMs: is missing/,
    ],
    [
      'nothing said of what is late',
      { window: { sizeMs: 1, latenessMs: 0 } },
      /effect\.apply\.window\.late: must be one of/,
    ],
    ['no window', { window: undefined }, /effect\.apply\.window: must be \{ sizeMs/],
    ['a floor under a window', { notNegative: ['minutes'] }, /effect\.apply\.notNegative: is for ledgers/],
    [
      'a floor under no column',
      { window: 'none', notNegative: ['hours'] },
      /effect\.apply\.notNegative: must list columns/,
    ],
    [
      'a column of its own',
      { values: { count: () => 1 } },
      /effect\.apply\.values\.count: is a column of the effect; choose/,
    ],
    ['withdrawals of nothing', { withdraws: () => true }, /effect\.apply\.withdraws: needs corrects/],
    [
      'a misspelt key',
      { eventID: () => 1 },
      /effect\.apply\.eventID: is not a known key; did you mean 'eventId'/,
    ],
  ] as const) {
    test(what, () => assert.throws(() => define(changes), says))
  }
  test('the right one is not', () => assert.equal(define({}).effect!.apply!.kind, 'contribution'))
})

describe(
  'a contribution whose tables do not fit is refused at start, with the table that would',
  await skipWithout('postgres'),
  () => {
    let rig: DeclaredRig
    before(async () => {
      rig = await DeclaredRig.open()
      await rig.pool.query(`
      create table floating (like minutes_fact including all); alter table floating alter minutes type double precision;
      create table keyless (like minutes_fact);
      create table hundreds (like minutes_fact including all); alter table hundreds alter minutes type numeric(9,-2);
      create table rounding (like minutes_window including all); alter table rounding alter minutes type bigint;
      create table cents (like minutes_fact including all); alter table cents alter minutes type numeric(12,2);
      create table uuid_fact (like minutes_fact including all); alter table uuid_fact alter message_id type uuid using null;
      create table once_only (like minutes_fact, primary key (event_id, sign))`)
    })
    after(() => rig.close())
    for (const [what, changes, says] of [
      [
        'no such table',
        { summary: 'nowhere' },
        /effect\.apply\.summary: there is no table nowhere[\s\S]*create table nowhere/,
      ],
      [
        'no such column',
        { values: { hours: () => 1 } },
        /effect\.apply\.values\.hours: table minutes_fact has no column hours/,
      ],
      [
        'floating point',
        { facts: 'floating' },
        /effect\.apply\.values\.minutes: column floating\.minutes is double precision, it must be numeric/,
      ],
      [
        'evidence that is no text',
        { facts: 'uuid_fact' },
        /effect\.apply\.facts: column uuid_fact\.message_id is uuid, it must be text/,
      ],
      [
        'facts that would be rounded',
        { facts: 'hundreds' },
        /effect\.apply\.values\.minutes: column hundreds\.minutes is numeric\(9,-2\) and would round/,
      ],
      [
        'sums that would be rounded',
        { facts: 'cents', summary: 'rounding' },
        /column rounding\.minutes is bigint and would round; make it numeric, or numeric\(12,2\) as in cents/,
      ],
      [
        'facts without a key',
        { facts: 'keyless' },
        /effect\.apply\.facts: table keyless has no unique key on \(event_id, sign\)/,
      ],
      [
        'reversals without a key',
        { facts: 'once_only', corrects: () => null },
        /once_only has no unique key on \(reverses/,
      ],
      [
        'a ledger on a table of windows',
        { window: 'none', at: undefined },
        /column minutes_fact\.window_start is not null, has no default/,
      ],
    ] as const) {
      test(what, () =>
        assert.rejects(rig.pass(contribution({ ...declared, ...changes } as typeof declared), []), says),
      )
    }
  },
)
