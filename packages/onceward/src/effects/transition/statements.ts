import { consumerName } from '../../drivers/postgres/sql/consumer-name.ts'
import { quoted } from '../declared/names.ts'
import type { TableShape } from '../declared/tables.ts'
import type { TransitionDeclaration } from './declaration.ts'

export interface TransitionStatements {
  readonly lock: string
  /** Returns the database's spelling of keys without a row; null for text keys, which are stored verbatim. */
  readonly spell: string | null
  readonly readFacts: string
  readonly update: string
  readonly create: string
  readonly addFacts: string
}

/** The statements of a declaration, with the types of its tables. */
export function statementsFor<M>(
  declared: TransitionDeclaration<M>,
  shape: TableShape,
): TransitionStatements {
  const { aggregate, facts } = declared
  const table = quoted(aggregate.table)
  const typed = (column: string, value: string) => `${value}::${shape.columns.get(column)!.castTo}`
  const [key, state] = [quoted(aggregate.key), quoted(aggregate.state)]
  const version = aggregate.version === undefined ? null : quoted(aggregate.version)
  const set = Object.keys(declared.set ?? {})
  const versionOf = (alias: string) => (version === null ? 'null' : `${alias}.${version}::text`)

  const changed = [
    `${state} = ${typed(aggregate.state, 'change.state')}`,
    ...(version === null ? [] : [`${version} = ${typed(aggregate.version!, 'change.version')}`]),
    ...set.map(
      (column, n) =>
        `${quoted(column)} = case when change.given_${n} then ${typed(column, `change.value_${n}`)} else held.${quoted(column)} end`,
    ),
  ]
  const guard = [
    `held.${key} = ${typed(aggregate.key, 'change.key')}`,
    `held.${state} = ${typed(aggregate.state, 'change.found_state')}`,
    ...(version === null ? [] : [`held.${version} = ${typed(aggregate.version!, 'change.found_version')}`]),
  ]
  return {
    // Not FOR UPDATE: it would also wait for rows that merely reference the aggregate, and the key does not
    // change.
    lock: `select asked.key as asked, held.${key}::text as key, held.${state}::text as state, ${versionOf('held')} as version
      from unnest($1::text[]) as asked (key) join ${table} as held on held.${key} = ${typed(aggregate.key, 'asked.key')}
      order by held.${key} for no key update of held`,
    spell: /^(text|character varying)$/.test(shape.columns.get(aggregate.key)!.castTo)
      ? null
      : `select asked.key as asked, (${typed(aggregate.key, 'asked.key')})::text as key from unnest($1::text[]) as asked (key)`,
    readFacts: `select transition_id, aggregate_id, from_state, to_state, ${version === null ? 'null' : 'version::text'} as version
      from ${quoted(facts)} where transition_id = any($1::text[])`,
    update: `update ${table} as held set ${changed.join(', ')}
      from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]${arrays(6, set.length)})
        as change (key, found_state, found_version, state, version${names(set.length)})
      where ${guard.join(' and ')}`,
    create: `insert into ${table} (${[key, state, ...(version === null ? [] : [version]), ...set.map(quoted)].join(', ')})
      select ${[
        typed(aggregate.key, 'change.key'),
        typed(aggregate.state, 'change.state'),
        ...(version === null ? [] : [typed(aggregate.version!, 'change.version')]),
        ...set.map((column, n) => typed(column, `change.value_${n}`)),
      ].join(', ')}
      from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]${arrays(6, set.length)})
        as change (key, found_state, found_version, state, version${names(set.length)})
      on conflict (${key}) do nothing`,
    addFacts: `insert into ${quoted(facts)}
        (consumer, transition_id, aggregate_id, from_state, to_state${version === null ? '' : ', version'}, actor, reason, message_id)
      select ${consumerName}, transition_id, aggregate_id, from_state, to_state${version === null ? '' : ', version::bigint'}, actor, reason, message_id
      from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
        as fact (transition_id, aggregate_id, from_state, to_state, version, actor, reason, message_id)
      on conflict (transition_id) do nothing`,
  }
}

const arrays = (first: number, count: number) =>
  Array.from(
    { length: count },
    (_, n) => `, $${first + 2 * n}::text[], $${first + 2 * n + 1}::boolean[]`,
  ).join('')

const names = (count: number) => Array.from({ length: count }, (_, n) => `, value_${n}, given_${n}`).join('')
