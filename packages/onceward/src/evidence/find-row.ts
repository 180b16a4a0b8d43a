import { inTransaction } from '../drivers/postgres/in-transaction.ts'
import type { SqlClient, SqlPool } from '../drivers/postgres/pool.ts'
import { OncewardError } from '../errors.ts'
import { nearestName } from '../ports/nearest-name.ts'
import type { ExplainQuestion } from './explanation.ts'

/** A row of a user's table, with the cause it carries. */
export interface SinkRow {
  /** The name as the database formats it. */
  readonly table: string
  readonly messageId: string | null
  readonly runId: number | null
}

interface Column {
  readonly name: string
  readonly quoted: string
  readonly type: string
  readonly inKey: boolean
}

const findTable = `select to_regclass($1)::text as "table"`

const findColumns = `
  select a.attname::text as name, quote_ident(a.attname) as quoted, format_type(a.atttypid, a.atttypmod) as type,
    coalesce(a.attnum = any (i.indkey), false) as "inKey"
  from pg_catalog.pg_attribute a left join pg_catalog.pg_index i on i.indrelid = a.attrelid and i.indisprimary
  where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped`

/**
 * Finds the row by its primary key, or by the columns given. Throws when the table, column or row does not
 * exist, and when rows carry no cause.
 */
export function findRow(
  pool: SqlPool,
  { table, key }: Extract<ExplainQuestion, { by: 'row' }>,
): Promise<SinkRow> {
  return inTransaction(pool, async client => {
    await client.query(`set transaction read only; set local statement_timeout = '10s'`)
    const name = await tableNamed(client, table)
    const columns = (await client.query(findColumns, [table])).rows as Column[]
    const wanted = typeof key === 'string' ? singleKey(name, columns, key) : Object.entries(key)
    const where = wanted.map(([of], n) => {
      const column = columnNamed(name, columns, of)
      return `t.${column.quoted} = $${n + 1}::${column.type}`
    })
    const cause = columns.find(column => column.name === 'caused_by')
    if (cause === undefined)
      throw refused(
        `Rows of ${name} do not carry their cause: it has no column caused_by. See docs/explain.md.`,
      )
    const run = columns.some(column => column.name === 'caused_by_run')
      ? 't.caused_by_run::integer'
      : 'null::integer'
    const text = `select t.caused_by::text as "messageId", ${run} as "runId" from ${name} t where ${where.join(' and ')} limit 2`
    const { rows } = await client
      .query(
        text,
        wanted.map(([, value]) => value),
      )
      .catch(asUsage(name))
    if (rows.length !== 1)
      throw refused(
        rows.length === 0
          ? `${name} has no such row.`
          : `More than one row of ${name} matches: give the whole key.`,
      )
    return { table: name, ...rows[0] }
  })
}

async function tableNamed(client: SqlClient, table: string): Promise<string> {
  const { rows } = await client.query(findTable, [table]).catch(asUsage(table))
  if (rows[0].table === null) throw refused(`Table ${table} does not exist, or this role may not see it.`)
  return rows[0].table
}

function singleKey(table: string, columns: readonly Column[], value: string): [string, string][] {
  const key = columns.filter(column => column.inKey)
  if (key.length === 1) return [[key[0]!.name, value]]
  const shape = (key.length === 0 ? columns : key).slice(0, 3).map(({ name }) => `"${name}": …`)
  throw refused(
    `${table} has ${key.length === 0 ? 'no primary key' : `a primary key of ${key.length} columns`}: name the columns, as ${table}:{${shape.join(', ')}}.`,
  )
}

function columnNamed(table: string, columns: readonly Column[], name: string): Column {
  const found = columns.find(column => column.name === name)
  if (found !== undefined) return found
  const near = nearestName(
    name,
    columns.map(column => column.name),
  )
  throw refused(`${table} has no column ${name}${near === null ? '' : `; did you mean ${near}?`}.`)
}

/** A value of the wrong type, or an invalid name. Other errors are not the user's mistake. */
const asUsage = (what: string) => (error: Error & { code?: string }) => {
  if (/^(22|42)/.test(error.code ?? '')) throw refused(`${what}: ${error.message}.`)
  throw error
}

function refused(why: string): OncewardError {
  return new OncewardError('usage', `${why} Nothing was changed.`)
}
