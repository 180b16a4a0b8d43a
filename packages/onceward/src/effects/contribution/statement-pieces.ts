import { consumerName } from '../../drivers/postgres/sql/consumer-name.ts'
import { quoted } from '../declared/names.ts'
import type { TableShape } from '../declared/tables.ts'
import type { ContributionDeclaration } from './declaration.ts'

/** Fragments shared by the statements of one declaration. */
export interface Pieces {
  readonly facts: string
  readonly summary: string
  readonly corrects: boolean
  readonly windowed: boolean
  readonly timed: boolean
  /** Quoted. */
  readonly values: readonly string[]
  /** The grouping columns of the summary. */
  readonly group: string
  /** The other columns of the summary. */
  readonly kept: readonly string[]
  /** The columns of a fact, their values for a given fact, and the columns returned. */
  readonly columns: readonly string[]
  readonly given: readonly string[]
  readonly returned: string
  /** Columns that record the origin of a fact, and their values. */
  readonly evidence: readonly string[]
  readonly evidenceGiven: readonly string[]
  readonly types: readonly string[]
}

export function piecesOf<M>(declared: ContributionDeclaration<M>, shape: TableShape): Pieces {
  const windowed = declared.window !== 'none'
  const timed = declared.at !== undefined
  const names = Object.keys(declared.values ?? {})
  const values = names.map(quoted)
  const group = windowed ? 'key, window_start' : 'key'
  const times = [...(windowed ? ['window_start'] : []), ...(timed ? ['occurred_at'] : [])]
  const timesGiven = [
    ...(windowed ? [timeOf('given.window_ms')] : []),
    ...(timed ? [timeOf('given.at_ms')] : []),
  ]
  const evidence = ['consumer', 'message_id'].filter(column => shape.columns.has(column))
  const columns = ['event_id', 'sign', 'key', ...times, ...values]
  return {
    facts: quoted(declared.facts),
    summary: quoted(declared.summary),
    corrects: declared.corrects !== undefined,
    windowed,
    timed,
    values,
    group,
    kept: ['count', ...values, ...(windowed ? ['latest_at'] : [])],
    columns,
    given: ['given.event_id', '1', 'given.key', ...timesGiven, ...values.map((_, n) => `given.value_${n}`)],
    returned: columns.join(', '),
    evidence,
    evidenceGiven: evidence.map(column => (column === 'consumer' ? consumerName : 'given.message_id')),
    types: names.map(name => shape.columns.get(name)!.castTo),
  }
}

/** Without the closing parenthesis, so further arrays can follow. */
export function givenFacts(first: number, { types }: Pieces): string {
  const values = types.map((type, n) => `, $${first + 5 + n}::${type}[]`).join('')
  return `unnest($${first}::text[], $${first + 1}::text[], $${first + 2}::bigint[], $${first + 3}::bigint[], $${first + 4}::text[]${values}`
}

export const givenNames = ({ values }: Pieces) =>
  `event_id, key, window_ms, at_ms, message_id${values.map((_, n) => `, value_${n}`).join('')}`

const timeOf = (milliseconds: string) => `timestamptz 'epoch' + ${milliseconds} * interval '1 millisecond'`

export function sameAs(fact: string, { windowed, values }: Pieces): string {
  const window = windowed ? [`${fact}.window_start = ${timeOf('given.window_ms')}`] : []
  const equal = values.map((column, n) => `${fact}.${column} = given.value_${n}`)
  return [`${fact}.key = given.key`, ...window, ...equal].join(' and ')
}

export function summarise(from: string, { summary, group, kept, values, windowed }: Pieces): string {
  const sums = [
    'sum(sign)',
    ...values.map(column => `sum(${column})`),
    ...(windowed ? ['max(occurred_at)'] : []),
  ]
  const grown = ['count', ...values].map(column => `${column} = held.${column} + excluded.${column}`)
  const latest = windowed ? ['latest_at = greatest(held.latest_at, excluded.latest_at)'] : []
  return `insert into ${summary} as held (${group}, ${kept.join(', ')})
    select ${group}, ${sums.join(', ')} from ${from} group by ${group} order by ${group}
    on conflict (${group}) do update set ${[...grown, ...latest].join(', ')}`
}
