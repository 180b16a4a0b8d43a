import type { SqlTransaction } from '../../contract/handler.ts'
import { OncewardError } from '../../errors.ts'
import { nearestName } from '../../ports/nearest-name.ts'
import { unfitType } from './column-type.ts'

type Query = SqlTransaction['query']

interface Column {
  readonly type: string
  /**
   * The type without its length or precision: a cast to those truncates or rounds silently, an assignment
   * fails.
   */
  readonly castTo: string
  /** The type of the stored values: for a domain its base type, for an array the element type with `[]`. */
  readonly keeps: string
  readonly notNull: boolean
  /** PostgreSQL fills the column when an insert omits it. */
  readonly filled: boolean
  /** Only PostgreSQL can write the column. */
  readonly generated: boolean
  /** The collation distinguishes all different texts. */
  readonly deterministic: boolean
}

/**
 * The catalogue's description of a table. Unique keys are written as `a, b` or, if partial, `a where (…)`.
 */
export interface TableShape {
  readonly columns: ReadonlyMap<string, Column>
  readonly unique: ReadonlySet<string>
}

/** The requirements of a declaration for a table, with the place in the declaration that names it. */
export interface TableNeed {
  readonly place: string
  readonly table: string
  /** Column → required types, and whether it may be null. */
  readonly columns: Readonly<Record<string, ColumnNeed>>
  /** Required unique keys: one of each group. */
  readonly unique: readonly (readonly string[])[]
  /** The effect inserts rows, so other columns need a default. */
  readonly inserted: boolean
  /** The statement that creates such a table. */
  readonly make: string
}

/** Values are sent as text, which PostgreSQL does not cast implicitly to other types. */
export const text = { type: /^(text|character varying.*)$/, typeText: 'text' } as const

export interface ColumnNeed {
  readonly place?: string
  readonly type?: RegExp
  readonly typeText?: string
  readonly notNull?: boolean
  /** Filled if the table has the column. */
  readonly optional?: boolean
}

/**
 * Reads the tables and compares them with the declaration. Throws one error that names every field and the
 * fix.
 */
export async function verifyTables(
  kind: string,
  query: Query,
  needs: readonly TableNeed[],
): Promise<TableShape[]> {
  const problems: string[] = []
  const shapes: TableShape[] = []
  for (const need of needs) {
    const shape = await readShape(query, need.table)
    shapes.push(shape)
    const found: string[] = []
    compare(need, shape, (place, text) => void found.push(`  - effect.apply.${place}: ${text}`))
    if (found.length > 0) problems.push(...found, `    a table that fits:\n${indented(need.make)}`)
  }
  if (problems.length === 0) return shapes
  throw new OncewardError(
    'contract_invalid',
    `The ${kind} does not fit the database:\n${problems.join('\n')}\nNothing was started.`,
    { details: { problems } },
  )
}

/**
 * Of a column `a`. A domain may lie over a domain, and an array may be of one: the type at the bottom is the
 * one that rounds. A range is `range of` its limits' type, a composite type `row of` its name.
 */
export const keptType = `(
  with recursive below (level, type, modifier, within, list) as (
    select 0, a.atttypid, a.atttypmod, '', ''
    union all
    select b.level + 1, coalesce(r.rngsubtype, m.rngtypid, case d.typtype when 'd' then d.typbasetype else d.typelem end),
      case d.typtype when 'd' then d.typtypmod when 'b' then b.modifier else -1 end,
      b.within || case when m.rngtypid is not null then 'multirange of ' when r.rngtypid is not null and b.within = '' then 'range of ' else '' end,
      case when d.typtype = 'b' and b.within = '' then '[]' else b.list end
    from below b join pg_catalog.pg_type d on d.oid = b.type
    left join pg_catalog.pg_range r on r.rngtypid = b.type
    left join pg_catalog.pg_range m on m.rngmultitypid = b.type
    where d.typtype in ('d', 'r', 'm') or d.typcategory = 'A' and d.typelem <> 0 and b.within = '')
  select b.within || case d.typtype when 'c' then 'row of ' else '' end || pg_catalog.format_type(b.type, b.modifier) || b.list
  from below b join pg_catalog.pg_type d on d.oid = b.type order by b.level desc limit 1)`

async function readShape(query: Query, table: string): Promise<TableShape> {
  const columns = await query<{
    name: string
    type: string
    cast_to: string
    keeps: string
    not_null: boolean
    filled: boolean
    generated: boolean
    deterministic: boolean
  }>(
    `select attname as name, format_type(atttypid, atttypmod) as type, format_type(atttypid, -1) as cast_to, ${keptType} as keeps,
       attnotnull as not_null,
       atthasdef or attidentity <> '' or not attnotnull as filled, attgenerated <> '' or attidentity = 'a' as generated,
       coalesce((select collisdeterministic from pg_collation where oid = attcollation), true) as deterministic
     from pg_attribute a where attrelid = to_regclass($1) and attnum > 0 and not attisdropped`,
    [table],
  )
  const keys = await query<{ key: string }>(
    `select (select string_agg(attname, ', ' order by attname) from pg_attribute
         where attrelid = indrelid and attnum = any(indkey)) || coalesce(' where ' || pg_get_expr(indpred, indrelid), '') as key
     from pg_index where indrelid = to_regclass($1) and indisunique and indisvalid and indimmediate and indexprs is null`,
    [table],
  )
  return {
    columns: new Map(
      columns.rows.map(({ name, cast_to: castTo, not_null: notNull, ...column }) => [
        name,
        { ...column, castTo, notNull },
      ]),
    ),
    unique: new Set(keys.rows.map(row => row.key)),
  }
}

function compare(need: TableNeed, shape: TableShape, wrong: (place: string, text: string) => void): void {
  const { place, table } = need
  if (shape.columns.size === 0) return wrong(place, `there is no table ${table}, or this role may not see it`)
  for (const [name, wanted] of Object.entries(need.columns)) {
    const { place: at = place, type, typeText, notNull } = wanted
    const column = shape.columns.get(name)
    if (column === undefined) {
      if (wanted.optional) continue
      const near = nearestName(name, [...shape.columns.keys()])
      wrong(at, `table ${table} has no column ${name}${near === null ? '' : `; did you mean '${near}'?`}`)
    } else if (type !== undefined && !type.test(column.type)) {
      wrong(at, `column ${table}.${name} is ${column.type}, it must be ${typeText ?? type.source}`)
    } else if (unfitType(column.keeps) !== null) {
      wrong(at, `column ${table}.${name} ${unfitType(column.keeps)}`)
    } else if (column.generated) {
      wrong(at, `column ${table}.${name} is generated and cannot be written`)
    } else if (notNull && !column.notNull) {
      wrong(at, `column ${table}.${name} may be null; declare it not null`)
    }
  }
  for (const name of keyNames(need)) {
    if (shape.columns.get(name)?.deterministic === false)
      wrong(
        place,
        `column ${table}.${name} has a nondeterministic collation, which treats different texts as one key; use another`,
      )
  }
  for (const group of need.unique) {
    if (!group.some(key => shape.unique.has(key)))
      wrong(
        place,
        `table ${table} has no unique key on (${group[0]}): without it a fact could be stored twice`,
      )
  }
  if (!need.inserted) return
  for (const [name, { filled }] of shape.columns) {
    if (!filled && !Object.hasOwn(need.columns, name))
      wrong(
        place,
        `column ${table}.${name} is not null, has no default, and is not filled by the declaration`,
      )
  }
}

/** The columns of all required unique keys. */
function keyNames({ unique }: TableNeed): ReadonlySet<string> {
  return new Set(unique.flat().flatMap(key => key.split(' where ')[0]!.split(', ')))
}

const indented = (text: string) => text.replaceAll(/^/gm, '      ')
