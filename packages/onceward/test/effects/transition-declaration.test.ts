import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { defineConsumer, OncewardError, type TransitionDeclaration, transition } from 'onceward'
import { skipWithout } from '../services/services.ts'
import { contractOf, machine, type Step } from './declared-contracts.ts'
import { DeclaredRig } from './declared-rig.ts'

const declared: TransitionDeclaration<Step> = {
  machine,
  aggregate: { table: 'workflow', key: 'case_id', state: 'state', version: 'version' },
  facts: 'workflow_fact',
  aggregateId: m => m.caseId,
  transitionId: m => m.transitionId,
  event: m => m.event,
  version: m => m.version,
  actor: () => null,
  reason: () => null,
}
const define = (changes: object) =>
  defineConsumer(contractOf(transition({ ...declared, ...changes }), { kind: 'memory' }, 'wrong'))

describe('a transition that is declared wrong is refused before anything starts', () => {
  const { events } = machine
  for (const [what, changes, says] of [
    [
      'an unknown key',
      { aggregateID: () => 1 },
      /effect\.apply\.aggregateID: is not a known key; did you mean 'aggregateId'/,
    ],
    [
      'a table that is no name',
      { facts: 'a; drop table b' },
      /effect\.apply\.facts: must be the name of a table/,
    ],
    ['no transition id', { transitionId: undefined }, /effect\.apply\.transitionId: must be a function/],
    ['an event without a machine', { machine: undefined }, /effect\.apply\.machine: is missing/],
    [
      'neither event nor from and to',
      { event: undefined },
      /effect\.apply\.event: declare event, or from and to/,
    ],
    [
      'a version without its column',
      { aggregate: { ...declared.aggregate, version: undefined } },
      /effect\.apply\.aggregate\.version: is missing/,
    ],
    ['a column without its version', { version: undefined }, /effect\.apply\.version: is missing/],
    [
      'an unknown case',
      { on: { ilegal: 'park' } },
      /effect\.apply\.on\.ilegal: is not a known case; known: 'duplicate'/,
    ],
    ['an unknown response', { on: { illegal: 'shrug' } }, /effect\.apply\.on\.illegal: must be one of/],
    [
      'an unknown state',
      { machine: { ...machine, events: { ...events, Lost: { from: 'new', to: 'reviews' } } } },
      /machine\.events\.Lost\.to: 'reviews' is not one of machine\.states; did you mean 'review'/,
    ],
    [
      'an unreachable state',
      { machine: { ...machine, states: [...machine.states, 'archived'] } },
      /machine\.states: 'archived' cannot be reached from 'new'/,
    ],
    [
      'an event that leads to two states',
      {
        machine: {
          ...machine,
          events: {
            ...events,
            Closed: [
              { from: 'review', to: 'closed' },
              { from: 'review', to: 'escalated' },
            ],
          },
        },
      },
      /machine\.events\.Closed: leads from 'review' to closed and escalated/,
    ],
    [
      'a creation elsewhere than initial',
      { machine: { ...machine, events: { ...events, Opened: { from: null, to: 'review' } } } },
      /creates the aggregate in 'review', but machine\.initial is 'new'/,
    ],
  ] as const) {
    test(what, () => assert.throws(() => define(changes), says))
  }

  test('the right one is not', () => assert.equal(define({}).effect!.apply!.kind, 'transition'))
})

describe(
  'a transition whose tables do not fit is refused at start, with the table that would',
  await skipWithout('postgres'),
  () => {
    let rig: DeclaredRig
    before(async () => {
      rig = await DeclaredRig.open()
      await rig.pool.query(`
      create table loose (case_id text, state text, version double precision, required text not null);
      create table keyless (like workflow_fact);
      create table uuid_fact (like workflow_fact including all);
      alter table uuid_fact alter transition_id type uuid using null, alter message_id type uuid using null;
      create table counted (like workflow including all, label text generated always as (state || '!') stored)`)
    })
    after(() => rig.close())
    const start = (changes: object) => rig.pass(transition({ ...declared, ...changes }), [])

    for (const [what, changes, says] of [
      [
        'no such table',
        { facts: 'nowhere' },
        /effect\.apply\.facts: there is no table nowhere[\s\S]*create table nowhere/,
      ],
      [
        'no such column',
        { set: { outcme: () => 1 } },
        /effect\.apply\.set\.outcme: table workflow has no column outcme; did you mean 'outcome'/,
      ],
      [
        'no unique transition id',
        { facts: 'keyless' },
        /effect\.apply\.facts: table keyless has no unique key on \(transition_id\)/,
      ],
      [
        'an id that is no text',
        { facts: 'uuid_fact' },
        /column uuid_fact\.transition_id is uuid, it must be text[\s\S]*column uuid_fact\.message_id is uuid, it must be text/,
      ],
      [
        'a column the database computes',
        { aggregate: { ...declared.aggregate, table: 'counted' }, set: { label: () => 'x' } },
        /effect\.apply\.set\.label: column counted\.label is generated and cannot be written/,
      ],
      [
        'a version that is not a whole number',
        { aggregate: { ...declared.aggregate, table: 'loose' } },
        /effect\.apply\.aggregate\.version: column loose\.version is double precision/,
      ],
      [
        'a key without uniqueness',
        { aggregate: { ...declared.aggregate, table: 'loose' } },
        /loose has no unique key on \(case_id\)/,
      ],
      [
        'a column that a creation leaves empty',
        { aggregate: { ...declared.aggregate, table: 'loose' } },
        /column loose\.required is not null, has no default/,
      ],
    ] as const) {
      test(what, () =>
        assert.rejects(start(changes), error => {
          assert.ok(error instanceof OncewardError && error.code === 'contract_invalid')
          assert.match(error.message, says)
          return true
        }),
      )
    }
  },
)
