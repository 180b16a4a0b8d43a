import type { SqlTransaction } from '../../contract/handler.ts'
import { OncewardError } from '../../errors.ts'
import { scaleOf } from '../declared/column-type.ts'
import { type ColumnNeed, type TableShape, text, verifyTables } from '../declared/tables.ts'
import type { ContributionDeclaration } from './declaration.ts'

const exact: ColumnNeed = {
  type: /^(smallint|integer|bigint|numeric.*)$/,
  typeText: 'numeric or a whole number: sums of floating point depend on their order',
  notNull: true,
}
const named: ColumnNeed = { ...text, notNull: true }
const time: ColumnNeed = { type: /^timestamp with time zone$/, typeText: 'timestamptz', notNull: true }

export async function verifyContributionTables<M>(
  declared: ContributionDeclaration<M>,
  query: SqlTransaction['query'],
): Promise<TableShape> {
  const windowed = declared.window !== 'none'
  const timed = declared.at !== undefined
  const columns = Object.keys(declared.values ?? {})
  const values = Object.fromEntries(
    columns.map(column => [column, { ...exact, place: `values.${column}` }] as const),
  )
  const [facts, summary] = await verifyTables('contribution', query, [
    {
      place: 'facts',
      table: declared.facts,
      columns: {
        event_id: named,
        sign: { type: /^smallint$/, typeText: 'smallint', notNull: true },
        ...(declared.corrects && { reverses: text }),
        key: named,
        ...(windowed && { window_start: time }),
        ...(timed && { occurred_at: time }),
        ...values,
        consumer: { ...text, optional: true },
        message_id: { ...text, optional: true },
      },
      unique: [
        ['event_id, sign'],
        ...(declared.corrects ? [['reverses where (reverses IS NOT NULL)', 'reverses']] : []),
      ],
      inserted: true,
      make: factsTable(declared, columns),
    },
    {
      place: 'summary',
      table: declared.summary,
      columns: {
        key: named,
        count: { type: /^bigint$/, typeText: 'bigint', notNull: true },
        ...(windowed && { window_start: time, latest_at: time }),
        ...values,
      },
      unique: [[windowed ? 'key, window_start' : 'key']],
      inserted: true,
      make: summaryTable(declared, columns),
    },
  ])
  for (const column of columns) assertExactSums(declared, column, facts!, summary!)
  return facts!
}

/** PostgreSQL silently rounds decimal places that do not fit, so the sums would differ from the facts. */
function assertExactSums<M>(
  { facts: table, summary: sums }: ContributionDeclaration<M>,
  column: string,
  facts: TableShape,
  summary: TableShape,
): void {
  const [fact, sum] = [facts, summary].map(shape => shape.columns.get(column)!.type) as [string, string]
  const rounded = scaleOf(fact) < 0 ? table : scaleOf(sum) < scaleOf(fact) ? sums : null
  if (rounded === null) return
  throw new OncewardError(
    'contract_invalid',
    `The contribution does not fit the database:\n  - effect.apply.values.${column}: column ${rounded}.${column} is ${rounded === table ? fact : sum} and would round; make it numeric${rounded === sums ? `, or ${fact} as in ${table}` : ''}\nNothing was started.`,
  )
}

const lines = (...all: (string | false)[]) => all.filter(line => line !== false).join(',\n  ')

function factsTable<M>(declared: ContributionDeclaration<M>, columns: readonly string[]): string {
  const { facts, window, at, corrects } = declared
  const body = lines(
    'event_id text collate "C" not null',
    'sign smallint not null',
    corrects !== undefined && 'reverses text collate "C"',
    'key text not null',
    window !== 'none' && 'window_start timestamptz not null',
    at !== undefined && 'occurred_at timestamptz not null',
    ...columns.map(column => `${column} numeric not null`),
    'message_id text',
    'primary key (event_id, sign)',
  )
  const index = `;\ncreate unique index on ${facts} (reverses) where reverses is not null`
  return `create table ${facts} (\n  ${body}\n)${corrects === undefined ? '' : index}`
}

function summaryTable<M>(
  { summary, window }: ContributionDeclaration<M>,
  columns: readonly string[],
): string {
  const windowed = window !== 'none'
  return `create table ${summary} (\n  ${lines(
    'key text not null',
    windowed && 'window_start timestamptz not null',
    'count bigint not null',
    ...columns.map(column => `${column} numeric not null`),
    windowed && 'latest_at timestamptz not null',
    `primary key (key${windowed ? ', window_start' : ''})`,
  )}\n)`
}
