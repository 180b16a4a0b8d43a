import type { ParkedFilter, ParkedRow } from '../../drivers/postgres/parking/read-parked.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { listParked } from './list-parked.ts'
import { readBody } from './show-parked.ts'

/** A member of a JSON payload that has this value as text: `['order', 'lines', '0', 'sku']`. */
export interface PayloadMember {
  readonly path: readonly string[]
  readonly value: string
}

/**
 * The filter for messages that may have this member: their payload contains the text of its value, plain or
 * with escaped characters. `hasMember` decides.
 */
export function mayHave({ value }: PayloadMember): Pick<ParkedFilter, 'payloadHas'> {
  const quoted = JSON.stringify(value).slice(1, -1)
  const ascii = quoted.replaceAll(
    /[\u0080-\uffff]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return { payloadHas: [...new Set([value, quoted, ascii, ascii.toUpperCase().replaceAll('\\U', '\\u')])] }
}

export function hasMember(body: Buffer, { path, value }: PayloadMember): boolean {
  try {
    let at: unknown = JSON.parse(body.toString('utf8'))
    for (const name of path) {
      if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return false
      at = (at as Record<string, unknown>)[name]
    }
    return typeof at !== 'object' && String(at) === value
  } catch {
    return false
  }
}

/** One page of messages with this member. `isOver` ends a search that takes too long. */
export async function searchMember(
  pool: SqlPool,
  filter: ParkedFilter,
  member: PayloadMember,
  isOver: () => boolean,
): Promise<{
  readonly rows: readonly ParkedRow[]
  readonly complete: boolean
  readonly last: string | null
}> {
  const rows: ParkedRow[] = []
  let last: string | null = null
  for (let page = filter; ; ) {
    const found = await listParked(pool, { ...page, ...mayHave(member) })
    for (const row of found) {
      if (isOver()) return { rows, complete: false, last }
      if (hasMember(await readBody(pool, row.id), member)) rows.push(row)
      last = row.id
      if (rows.length === filter.countMax) return { rows, complete: true, last }
    }
    if (found.length < filter.countMax) return { rows, complete: true, last: null }
    page = filter.newestFirst === true ? { ...filter, before: last! } : { ...filter, after: last! }
  }
}
