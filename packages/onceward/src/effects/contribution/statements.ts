import { consumerName } from '../declared/consumer-name.ts'
import { quoted } from '../declared/names.ts'
import type { TableShape } from '../declared/tables.ts'
import type { ContributionDeclaration } from './declaration.ts'

export interface Statements {
  /** Adds facts and their sums; answers with how many were new, and which where some were not. */
  readonly add: string
  /** Which of these facts are there, and whether they say the same. */
  readonly compare: string
  /** How far each key has come. */
  readonly newest: string
  /** Ledger: locks and reads balances. */
  readonly lockBalances: string
  /** What is known of corrections and of what they correct. */
  readonly readCorrections: string
  /** Reverses facts and adds others in their place, with their sums; answers with how many rows were added. */
  readonly correct: string
  /** Rows of a summary that differ from the facts. */
  readonly drift: (summary: string) => string
  /** Writes the summary of the facts into an empty table. */
  readonly rebuild: (into: string) => string
}

/**
 * All statements of a declaration, with the types its tables really have. Parameters of `add`, `compare` and `correct` are arrays in the
 * order event, key, window, time, message, then the values, then what is corrected and whether it is withdrawn.
 */
export function statementsFor<M>(declared: ContributionDeclaration<M>, shape: TableShape): Statements {
  const facts = quoted(declared.facts)
  const windowed = declared.window !== 'none'
  const timed = declared.at !== undefined
  const corrects = declared.corrects !== undefined
  const values = Object.keys(declared.values ?? {})
  const typeOf = (column: string) => shape.columns.get(column)!.type
  const evidence = ['consumer', 'message_id'].filter(column => shape.columns.has(column))

  const time = (value: string) => `timestamptz 'epoch' + ${value} * interval '1 millisecond'`
  const group = ['key', ...(windowed ? ['window_start'] : [])].join(', ')
  const columns = [
    'event_id',
    'sign',
    'key',
    ...(windowed ? ['window_start'] : []),
    ...(timed ? ['occurred_at'] : []),
    ...values.map(quoted),
  ]
  const ofGiven = [
    'given.event_id',
    '1',
    'given.key',
    ...(windowed ? [time('given.window_ms')] : []),
    ...(timed ? [time('given.at_ms')] : []),
    ...values.map((_, n) => `given.value_${n}`),
  ]
  const evidenceOfGiven = evidence.map(column => (column === 'consumer' ? consumerName : 'given.message_id'))
  const given = (first: number) =>
    `unnest($${first}::text[], $${first + 1}::text[], $${first + 2}::bigint[], $${first + 3}::bigint[], $${first + 4}::text[]${values
      .map((column, n) => `, $${first + 5 + n}::${bare(typeOf(column))}[]`)
      .join('')}`
  const givenNames = `event_id, key, window_ms, at_ms, message_id${values.map((_, n) => `, value_${n}`).join('')}`
  const insert = `insert into ${facts} (${[...columns, ...evidence].join(', ')})`

  const kept = (table: string) => [
    'count',
    ...values.map(quoted),
    ...(table && windowed ? ['latest_at'] : []),
  ]
  const sums = [
    'sum(sign)',
    ...values.map(column => `sum(${quoted(column)})`),
    ...(windowed ? ['max(occurred_at)'] : []),
  ]
  const summarise = (
    from: string,
  ) => `insert into ${quoted(declared.summary)} as held (${group}, ${kept('held').join(', ')})
      select ${group}, ${sums.join(', ')} from ${from} group by ${group} order by ${group}
      on conflict (${group}) do update set ${kept('')
        .map(column => `${column} = held.${column} + excluded.${column}`)
        .concat(windowed ? ['latest_at = greatest(held.latest_at, excluded.latest_at)'] : [])
        .join(', ')}`
  const returned = ['event_id', 'sign', group, ...(timed ? ['occurred_at'] : []), ...values.map(quoted)].join(
    ', ',
  )
  const recount = `select ${group}, sum(sign) as count${values
    .map(column => `, sum(${quoted(column)}) as ${quoted(column)}`)
    .join('')}${windowed ? ', max(occurred_at) as latest_at' : ''} from ${facts} group by ${group}`

  return {
    add: `with fresh as (
        ${insert} select ${[...ofGiven, ...evidenceOfGiven].join(', ')} from ${given(2)}) as given (${givenNames})
        on conflict (event_id, sign) do nothing returning ${returned}
      ), summed as (${summarise('fresh')})
      select count(*)::integer as count, case when count(*) < $1 then array_agg(event_id) end as ids from fresh`,
    compare: `select given.n::integer as n, ${same(windowed, values)} as same
      from ${given(1)}) with ordinality as given (${givenNames}, n)
      join ${facts} as fact on fact.event_id = given.event_id and fact.sign = 1`,
    newest: `select asked.key, (extract(epoch from newest.latest_at) * 1000)::double precision as ms
      from unnest($1::text[]) as asked (key), lateral (
        select latest_at from ${quoted(declared.summary)} as held where held.key = asked.key order by window_start desc limit 1
      ) as newest`,
    lockBalances: `select key${values.map(column => `, ${quoted(column)}::text as ${quoted(column)}`).join('')}
      from ${quoted(declared.summary)} where key = any($1::text[]) order by key for no key update`,
    readCorrections: corrects
      ? `select given.n::integer as n, target.event_id is not null as found, target.key as target_key,
        array[${values.map(column => `target.${quoted(column)}::text`).join(', ')}]::text[] as target_values,
        taken.event_id as taken_by, mine.reverses as reversed, own.event_id is not null as placed, ${same(windowed, values, 'own')} as same
      from ${given(1)}, $${6 + values.length}::text[], $${7 + values.length}::boolean[])
        with ordinality as given (${givenNames}, corrects, withdraws, n)
      left join ${facts} as target on target.event_id = given.corrects and target.sign = 1
      left join ${facts} as taken on taken.reverses = given.corrects
      left join ${facts} as mine on mine.event_id = given.event_id and mine.sign = -1
      left join ${facts} as own on own.event_id = given.event_id and own.sign = 1`
      : '',
    correct: corrects
      ? `with given as (select * from ${given(1)}, $${6 + values.length}::text[], $${7 + values.length}::boolean[])
          as given (${givenNames}, corrects, withdraws)
      ), reversed as (
        insert into ${facts} (${[...columns, 'reverses', ...evidence].join(', ')})
        select given.event_id, -1, fact.key${windowed ? ', fact.window_start' : ''}${timed ? ', fact.occurred_at' : ''}${values
          .map(column => `, -fact.${quoted(column)}`)
          .join('')}, fact.event_id${evidenceOfGiven.map(value => `, ${value}`).join('')}
        from given join ${facts} as fact on fact.event_id = given.corrects and fact.sign = 1
        on conflict do nothing returning ${returned}
      ), placed as (
        ${insert} select ${[...ofGiven, ...evidenceOfGiven].join(', ')} from given where not given.withdraws
        on conflict do nothing returning ${returned}
      ), fresh as (select * from reversed union all select * from placed), summed as (${summarise('fresh')})
      select count(*)::integer as count from fresh`
      : '',
    drift: summary => `select ${group}, to_jsonb(held) as held, to_jsonb(counted) as counted
      from ${quoted(summary)} as held full join (${recount}) as counted using (${group})
      where (${kept('held').map(column => `held.${column}`)}) is distinct from (${kept('held').map(column => `counted.${column}`)})
      order by ${group}`,
    rebuild: into => `insert into ${quoted(into)} (${group}, ${kept('held').join(', ')})
      select ${group}, ${kept('held').join(', ')} from (${recount}) as counted order by ${group}`,
  }
}

/** Precision out: a value that its column cannot hold must fail, not be rounded on the way in. */
const bare = (type: string) => type.replace(/\(.*\)$/, '')

function same(windowed: boolean, values: readonly string[], fact = 'fact'): string {
  return [
    `${fact}.key = given.key`,
    ...(windowed
      ? [`${fact}.window_start = timestamptz 'epoch' + given.window_ms * interval '1 millisecond'`]
      : []),
    ...values.map((column, n) => `${fact}.${quoted(column)} = given.value_${n}`),
  ].join(' and ')
}
