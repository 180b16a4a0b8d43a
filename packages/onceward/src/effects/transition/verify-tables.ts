import type { SqlTransaction } from '../../contract/handler.ts'
import { type TableNeed, type TableShape, text, verifyTables } from '../declared/tables.ts'
import type { TransitionDeclaration } from './declaration.ts'

const wholeNumbers = /^(smallint|integer|bigint|numeric(\(\d+(,0)?\))?)$/

export async function verifyTransitionTables<M>(
  declared: TransitionDeclaration<M>,
  query: SqlTransaction['query'],
): Promise<TableShape> {
  const [aggregate] = await verifyTables('transition', query, [aggregateNeed(declared), factsNeed(declared)])
  return aggregate!
}

function aggregateNeed<M>({ aggregate, machine, set }: TransitionDeclaration<M>): TableNeed {
  const { table, key, state, version } = aggregate
  const creates = Object.values(machine?.events ?? {})
    .flat()
    .some(({ from }) => from === null)
  return {
    place: 'aggregate.table',
    table,
    columns: {
      [key]: { place: 'aggregate.key', notNull: true },
      [state]: { place: 'aggregate.state', notNull: true },
      ...(version && {
        [version]: {
          place: 'aggregate.version',
          type: wholeNumbers,
          typeText: 'a whole number, as bigint',
          notNull: true,
        },
      }),
      ...Object.fromEntries(Object.keys(set ?? {}).map(column => [column, { place: `set.${column}` }])),
    },
    unique: [[key]],
    inserted: creates,
    make: `create table ${table} (${key} text primary key, ${state} text not null${version ? `, ${version} bigint not null` : ''})`,
  }
}

function factsNeed<M>({ aggregate, facts }: TransitionDeclaration<M>): TableNeed {
  return {
    place: 'facts',
    table: facts,
    columns: {
      transition_id: { ...text, notNull: true },
      consumer: text,
      aggregate_id: text,
      from_state: text,
      to_state: text,
      ...(aggregate.version && { version: { type: /^bigint$/, typeText: 'bigint' } }),
      actor: text,
      reason: text,
      message_id: text,
    },
    unique: [['transition_id']],
    inserted: true,
    make: factsTable(facts, aggregate.version !== undefined),
  }
}

const factsTable = (name: string, versioned: boolean) => `create table ${name} (
  seq bigint generated always as identity primary key,
  transition_id text collate "C" not null unique,
  consumer text not null,
  aggregate_id text not null,
  from_state text,
  to_state text not null,${versioned ? '\n  version bigint not null,' : ''}
  actor text,
  reason text,
  message_id text not null,
  at timestamptz not null default now()
)`
