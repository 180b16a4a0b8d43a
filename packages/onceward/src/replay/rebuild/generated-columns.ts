import type { SqlClient } from '../../drivers/postgres/pool.ts'
import type { ComparedColumns } from '../../drivers/postgres/rebuild/compare-rows.ts'
import { quote } from '../../drivers/postgres/rebuild/schemas.ts'
import { refused } from '../campaign/campaign.ts'
import type { TableComparison } from './compare-tables.ts'

/**
 * A column that the database fills, and whose values differ between live and rebuilt rows of the same key.
 */
export interface GeneratedColumn {
  readonly column: string
  readonly different: number
  /** The first such row. Null when the column is part of the key, so that rows cannot be matched by it. */
  readonly example: { readonly key: unknown; readonly live: unknown; readonly rebuilt: unknown } | null
}

/** `live` and `rebuilt`: the quoted tables. */
export async function compareGenerated(
  client: SqlClient,
  live: string,
  rebuilt: string,
  { key, generated }: ComparedColumns,
): Promise<readonly GeneratedColumn[]> {
  const found: GeneratedColumn[] = []
  const both = key.map(column => `l.${quote(column)} = s.${quote(column)}`).join(' and ')
  const shown = key.map(column => `'${column.replaceAll("'", "''")}', l.${quote(column)}`).join(', ')
  for (const column of generated.filter(one => !key.includes(one))) {
    const name = quote(column)
    const { rows } = await client.query(`
      with d as (
        select jsonb_build_object(${shown}) as key, l.${name} as live, s.${name} as rebuilt from ${live} l join ${rebuilt} s on ${both}
        where l.${name}::text is distinct from s.${name}::text)
      select (select count(*)::integer from d) as different, (select to_jsonb(d) from d order by key limit 1) as example`)
    if (rows[0].different > 0) found.push({ column, ...rows[0] })
  }
  return found
}

/**
 * The key includes a column that the database numbers. Where such rows differ, they may be different rows.
 */
export function keyChanges(
  { key, generated }: ComparedColumns,
  different: number,
): readonly GeneratedColumn[] {
  if (different === 0) return []
  return generated.filter(one => key.includes(one)).map(column => ({ column, different, example: null }))
}

/** Other tables and people may refer to these values. Only the contract can declare that nothing does. */
export function assertKept(compared: readonly TableComparison[]): void {
  const changed = compared.filter(({ generated }) => generated.length > 0)
  if (changed.length === 0) return
  const said = changed.map(({ table, generated }) => `${table}: ${generated.map(generatedText).join(', ')}`)
  const { table, generated } = changed[0]!
  const name = table.slice(table.indexOf('.') + 1)
  const names = generated.map(({ column }) => `'${column}'`).join(', ')
  throw refused(
    `The swap would change values that the database generated and that others may refer to. ${said.join('. ')}. If nothing refers to them, declare it in the contract: replay.compare.${name}.mayChange: [${names}].`,
  )
}

export function generatedText({ column, different, example }: GeneratedColumn): string {
  if (example === null)
    return `column ${column} is part of the key and filled by the database, and ${different} rows differ (name a key from the messages in replay.compare to see which)`
  return `column ${column} in ${different} rows, such as ${JSON.stringify(example.key)} (live ${JSON.stringify(example.live)}, rebuilt ${JSON.stringify(example.rebuilt)})`
}
