import type { SqlTransaction } from '../../contract/handler.ts'
import { OncewardError } from '../../errors.ts'
import { nearestName } from '../../ports/nearest-name.ts'
import { unfitType } from '../declared/column-type.ts'
import { type Fit, fitColumn } from '../declared/fit-column.ts'
import { keptType } from '../declared/tables.ts'
import type { ProjectionOptions } from './declaration.ts'

/** The declared columns with their types from the catalogue. Names are quoted. */
export interface Table {
  readonly name: string
  readonly keys: readonly Column[]
  readonly version: Column
  readonly values: readonly Column[]
  readonly deleted: string | null
  readonly digest: string | null
}

export interface Column {
  readonly name: string
  readonly plainName: string
  /** Without length or precision: a cast to varchar(3) truncates silently, an assignment fails. */
  readonly type: string
  readonly sent: 'as is' | 'as json' | 'as array literal'
  /** Converts a value to what the column stores; throws `Unfit` where PostgreSQL would change it. */
  readonly fit: Fit
}

interface CatalogueRow {
  readonly name: string
  readonly type: string
  readonly keeps: string
  readonly category: string
  readonly required: boolean
  readonly notNull: boolean
  readonly generated: boolean
  readonly deterministic: boolean
}

const findTable = `
  select c.oid, c.relkind::text as kind from pg_catalog.pg_class c
  where c.oid = pg_catalog.to_regclass($1)`

const findColumns = `
  select a.attname as name, pg_catalog.format_type(a.atttypid, -1) as type, ${keptType} as keeps, t.typcategory::text as category,
    a.attnotnull and not a.atthasdef and a.attidentity = '' as required,
    a.attnotnull as "notNull",
    a.attgenerated <> '' or a.attidentity = 'a' as generated,
    coalesce(l.collisdeterministic, true) as deterministic
  from pg_catalog.pg_attribute a
  join pg_catalog.pg_type t on t.oid = a.atttypid
  left join pg_catalog.pg_collation l on l.oid = a.attcollation
  where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped`

const findUnique = `
  select array_agg(a.attname::text) as columns
  from pg_catalog.pg_index i
  join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey[0 : i.indnkeyatts - 1])
  where i.indrelid = $1 and i.indisunique and i.indisvalid and i.indimmediate and i.indpred is null and i.indexprs is null
  group by i.indexrelid`

const keyTypes = new Set(['text', 'character varying', 'uuid', 'smallint', 'integer', 'bigint'])
const versionTypes = new Set(['smallint', 'integer', 'bigint'])

/** Compares a declaration with its table. Throws one error that names every mismatched field and the fix. */
export async function describeTable<M>(
  query: SqlTransaction['query'],
  options: ProjectionOptions<M>,
  place: 'table' | 'rebuildTable',
  consumerName: string,
): Promise<Table> {
  const named = options[place]!
  const name = named.split('.').map(quoted).join('.')
  const problems: string[] = []
  const wrong: Wrong = (field, text) => void problems.push(`  - effect.apply.${field}: ${text}`)
  const refuse = () =>
    new OncewardError(
      'configuration',
      `The projection of consumer ${consumerName} does not fit its table ${named}:\n${problems.join('\n')}\nNothing was started.`,
    )
  const [found] = (await query<{ oid: number; kind: string }>(findTable, [name])).rows
  if (found === undefined || !['r', 'p'].includes(found.kind)) {
    wrong(place, `there is no table ${named}; create it, or name its schema`)
    throw refuse()
  }
  const rows = (await query<CatalogueRow>(findColumns, [found.oid])).rows
  const columns = new Map(rows.map(row => [row.name, row]))
  const table = describeColumns(name, options, columns, columnFinder(named, columns, wrong), wrong)
  const unique = (await query<{ columns: string[] }>(findUnique, [found.oid])).rows
  const keyNames = Object.keys(options.key)
  if (!unique.some(index => sameNames(index.columns, keyNames)))
    wrong(
      'key',
      `${named} has no unique index on (${keyNames.join(', ')}); make it the primary key, or add one`,
    )
  checkRequired(rows, options, table, wrong)
  if (problems.length > 0) throw refuse()
  return table
}

type FindColumn = (field: string, of: string) => CatalogueRow | null

function columnFinder(named: string, columns: ReadonlyMap<string, CatalogueRow>, wrong: Wrong): FindColumn {
  return (field, of) => {
    const row = columns.get(of)
    if (row?.generated) wrong(field, `column ${of} is generated and cannot be written`)
    if (row !== undefined) return row
    const near = nearestName(of, [...columns.keys()])
    wrong(field, `${named} has no column ${of}${near === null ? '; add it' : `; did you mean ${near}?`}`)
    return null
  }
}

function describeColumns<M>(
  name: string,
  options: ProjectionOptions<M>,
  columns: ReadonlyMap<string, CatalogueRow>,
  column: FindColumn,
  wrong: Wrong,
): Table {
  const [versionName] = Object.keys(options.version) as [string]
  const keys = Object.keys(options.key).map(of => keyColumn(of, column(`key.${of}`, of), wrong))
  const version = column(`version.${versionName}`, versionName)
  if (version !== null && !versionTypes.has(version.type))
    wrong(
      `version.${versionName}`,
      `column ${versionName} is ${version.type}; a version needs bigint, integer or smallint`,
    )
  const valueNames = Object.keys(options.columns ?? {})
  const values = valueNames.map(of => valueColumn(of, column(`columns.${of}`, of), wrong))
  if (options.delete !== undefined)
    needsType(options.delete.column, 'delete.column', 'boolean', column, wrong)
  if (options.delete?.when === 'tombstone')
    for (const name of valueNames)
      if (columns.get(name)?.notNull)
        wrong(
          `columns.${name}`,
          `column ${name} may not be null, and a tombstone has no value for it; drop the not-null constraint`,
        )
  if (options.digest !== undefined) needsType(options.digest, 'digest', 'bytea', column, wrong)
  const caused = options.cause ? causeColumns.map(([of, type]) => causeColumn(of, type, column, wrong)) : []
  return {
    name,
    keys,
    version: described(versionName, version),
    values: [...values, ...caused],
    deleted: options.delete === undefined ? null : quoted(options.delete.column),
    digest: options.digest === undefined ? null : quoted(options.digest),
  }
}

/** Columns that the projection does not write need a default or null. */
function checkRequired<M>(
  rows: readonly CatalogueRow[],
  options: ProjectionOptions<M>,
  { keys, version, values }: Table,
  wrong: Wrong,
): void {
  const declared = [...keys, version, ...values].map(({ plainName }) => plainName)
  const written = new Set([...declared, options.delete?.column, options.digest])
  for (const row of rows)
    if (row.required && !written.has(row.name))
      wrong(
        'columns',
        `column ${row.name} may not be null and has no default; declare it, or give it a default`,
      )
}

/** Written after the declared columns, in this order. */
const causeColumns = [
  ['caused_by', 'text'],
  ['caused_by_run', 'integer'],
] as const

function causeColumn(of: string, type: string, column: FindColumn, wrong: Wrong): Column {
  needsType(of, 'cause', type, column, wrong)
  return { name: quoted(of), plainName: of, type, sent: 'as is', fit: fitColumn(type) }
}

type Wrong = (field: string, text: string) => void

function keyColumn(of: string, row: CatalogueRow | null, wrong: Wrong): Column {
  if (row !== null && !keyTypes.has(row.type))
    wrong(
      `key.${of}`,
      `column ${of} is ${row.type}, where different texts may be one key; use text, uuid or an integer type`,
    )
  if (row !== null && !row.deterministic)
    wrong(
      `key.${of}`,
      `column ${of} has a nondeterministic collation, where different texts may be one key; use another`,
    )
  return described(of, row)
}

function valueColumn(of: string, row: CatalogueRow | null, wrong: Wrong): Column {
  const unfit = row === null ? null : unfitType(row.keeps)
  if (unfit !== null) wrong(`columns.${of}`, `column ${of} ${unfit}`)
  return described(of, row)
}

function needsType(of: string, field: string, type: string, column: FindColumn, wrong: Wrong): void {
  const row = column(field, of)
  if (row !== null && row.type !== type) wrong(field, `column ${of} is ${row.type}; it must be ${type}`)
}

function described(of: string, row: CatalogueRow | null): Column {
  const type = row?.type ?? 'text'
  const json = type === 'json' || type === 'jsonb'
  return {
    name: quoted(of),
    plainName: of,
    type,
    sent: json ? 'as json' : row?.category === 'A' ? 'as array literal' : 'as is',
    fit: fitColumn(row?.keeps ?? type),
  }
}

function sameNames(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && others.every(name => some.includes(name))
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
