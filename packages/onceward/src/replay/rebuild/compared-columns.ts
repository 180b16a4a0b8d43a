import type { ComparedTable } from '../../contract/upkeep-sections.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'
import type { ComparedColumns } from '../../drivers/postgres/rebuild/compare-rows.ts'
import { quote } from '../../drivers/postgres/rebuild/schemas.ts'
import { refused } from '../campaign/campaign.ts'

/** Functions are read from the parsed default: `pg_depend` has no rows for built-in functions. */
const describe = `
  select a.attname as name, a.attgenerated <> '' as computed,
    a.attidentity <> '' or exists (select from pg_attrdef d where d.adrelid = a.attrelid and d.adnum = a.attnum and a.attgenerated = ''
      and (d.adbin::text like '%{SQLVALUEFUNCTION %' or exists (select from regexp_matches(d.adbin::text, ':(?:op)?funcid (\\d+)', 'g') as m
        join pg_proc p on p.oid = m[1]::oid where p.provolatile <> 'i'))) as generated,
    t.typname in ('json', 'xml', 'point', 'line', 'lseg', 'box', 'path', 'polygon', 'circle') as "asText",
    exists (select from pg_index i where i.indrelid = a.attrelid and i.indisprimary and a.attnum = any (i.indkey)) as key
  from pg_attribute a join pg_type t on t.oid = a.atttypid
  where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped order by a.attnum`

/**
 * Checks the declaration against the table, and refuses a key that does not identify rows. `table`: with its
 * schema.
 */
export async function comparedColumns(
  client: SqlClient,
  table: string,
  declared: ComparedTable = {},
): Promise<ComparedColumns> {
  const [schema, name] = table.split(/\.(.*)/s) as [string, string]
  const quoted = `${quote(schema)}.${quote(name)}`
  const { rows } = await client.query(describe, [quoted])
  const found = rows as {
    name: string
    computed: boolean
    generated: boolean
    asText: boolean
    key: boolean
  }[]
  const key = declared.key ?? found.filter(column => column.key).map(column => column.name)
  if (key.length === 0)
    throw refused(
      `Table ${table} has no primary key, so its rows cannot be compared: name columns that identify a row in replay.compare.${name}.key.`,
    )
  const { mayChange = [] } = declared
  const isOwn = (column: (typeof found)[number]) => column.computed || column.generated
  const columns =
    declared.columns ??
    found
      .filter(column => !isOwn(column) && ![...key, ...mayChange].includes(column.name))
      .map(column => column.name)
  const named = [...key, ...columns, ...mayChange]
  const missing = named.filter(column => !found.some(one => one.name === column))
  if (missing.length > 0)
    throw refused(`replay.compare.${name} names ${missing.join(', ')}; table ${table} has no such column.`)
  await assertApart(client, table, quoted, key)
  const asText = new Set(found.filter(column => column.asText).map(column => column.name))
  const isGenerated = ({ name, generated }: (typeof found)[number]) =>
    generated && ![...columns, ...mayChange].includes(name)
  const generated = found.filter(isGenerated).map(column => column.name)
  return { key, columns, asText, generated }
}

const isUnique = `
  select from pg_index i where i.indrelid = to_regclass($1) and i.indisunique and i.indisvalid and i.indpred is null and i.indexprs is null
    and not exists (select from unnest(i.indkey) with ordinality as k (attnum, n) join pg_attribute a on a.attrelid = i.indrelid
      and a.attnum = k.attnum where k.n <= i.indnkeyatts and (a.attname <> all ($2::text[]) or not a.attnotnull))`

/**
 * Rows that share a key would be paired wrongly, and an extra row would not be noticed. `quoted`: the table,
 * or its shadow.
 */
export async function assertApart(
  client: SqlClient,
  table: string,
  quoted: string,
  key: readonly string[],
): Promise<void> {
  if (((await client.query(isUnique, [quoted, key])).rowCount ?? 0) > 0) return
  const columns = key.map(quote).join(', ')
  const { rowCount } = await client.query(
    `select from ${quoted} group by ${columns} having count(*) > 1 limit 1`,
  )
  if (rowCount === 0) return
  throw refused(
    `Several rows of ${table} (${quoted}) share ${key.join(', ')}, so they cannot be compared: name columns that identify a row in replay.compare.`,
  )
}
