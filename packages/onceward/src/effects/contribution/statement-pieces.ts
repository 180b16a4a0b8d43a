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
  /** A fact counts in this many windows, each so long after the one before. */
  readonly hops: { readonly count: number; readonly everyMs: number }
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
    hops: hopsOf(declared.window),
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

function hopsOf(window: ContributionDeclaration<unknown>['window']): Pieces['hops'] {
  if (window === 'none') return { count: 1, everyMs: 0 }
  const { sizeMs, everyMs = sizeMs } = window
  return { count: sizeMs / everyMs, everyMs }
}

/** Facts as rows to sum: one for each window of a fact. A fact stores the start of its newest window. */
export function inWindows(facts: string, { hops, values }: Pieces): string {
  if (hops.count === 1) return facts
  const columns = ['sign', 'key', ...values, 'occurred_at'].map(column => `one.${column}`).join(', ')
  return `(select ${columns}, one.window_start - hop.n * interval '${hops.everyMs} milliseconds' as window_start
    from ${facts} as one cross join generate_series(0, ${hops.count - 1}) as hop (n)) as spread`
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

export function summarise(from: string, pieces: Pieces): string {
  const { summary, group, kept, values, windowed } = pieces
  const sums = [
    'sum(sign)',
    ...values.map(column => `sum(${column})`),
    ...(windowed ? ['max(occurred_at)'] : []),
  ]
  const grown = ['count', ...values].map(column => `${column} = held.${column} + excluded.${column}`)
  const latest = windowed ? ['latest_at = greatest(held.latest_at, excluded.latest_at)'] : []
  return `insert into ${summary} as held (${group}, ${kept.join(', ')})
    select ${group}, ${sums.join(', ')} from ${inWindows(from, pieces)} group by ${group} order by ${group}
    on conflict (${group}) do update set ${[...grown, ...latest].join(', ')}`
}
