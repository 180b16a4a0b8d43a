import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import { readHeldBody } from '../../drivers/postgres/parking/read-details.ts'
import type { ParkedFilter, ParkedRow } from '../../drivers/postgres/parking/read-parked.ts'
import { readSearchWindow } from '../../drivers/postgres/parking/search-window.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'

/** A member of a JSON payload that has this value as text: `['order', 'lines', '0', 'sku']`. */
export interface PayloadMember {
  readonly path: readonly string[]
  readonly value: string
}

/**
 * The filter for messages that may have this member: their payload contains the text of its value, plain or
 * with escaped characters. `hasMembers` decides.
 */
export function mayHave({ value }: PayloadMember): Pick<ParkedFilter, 'payloadHas'> {
  const quoted = JSON.stringify(value).slice(1, -1)
  const ascii = quoted.replaceAll(
    /[\u0080-\uffff]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return { payloadHas: [...new Set([value, quoted, ascii, ascii.toUpperCase().replaceAll('\\U', '\\u')])] }
}

/** Whether the payload has all of these members. */
export function hasMembers(body: Buffer, members: readonly PayloadMember[]): boolean {
  try {
    const value = exact.parse(body.toString('utf8'), (_, one, { source }) =>
      Number.isInteger(one) && !Number.isSafeInteger(one) ? source : one,
    )
    return members.every(member => hasMember(value, member))
  } catch {
    return false
  }
}

/** Since Node 22; the types do not know it yet. A number above 2^53 is compared as it is written. */
const exact = JSON as unknown as {
  parse(text: string, revive: (name: string, value: unknown, at: { source?: string }) => unknown): unknown
}

function hasMember(payload: unknown, { path, value }: PayloadMember): boolean {
  let at = payload
  for (const name of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return false
    at = (at as Record<string, unknown>)[name]
  }
  return typeof at !== 'object' && String(at) === value
}

/** What a search found until it ended. */
export interface SearchResult {
  readonly rows: readonly ParkedRow[]
  /** False when the search was stopped before it had looked at every row. */
  readonly complete: boolean
  /** Where the next page begins: `before` or `after` of its filter. Null when no row is left. */
  readonly next: string | null
}

/** How much a search may read. */
export interface SearchLimits {
  /** The whole search, and each of its statements. */
  readonly timeoutMs: number
  /** A clock that never goes back, in milliseconds. */
  readonly nowMs: () => number
  readonly signal?: AbortSignal | undefined
}

/**
 * One page of messages whose payload has the texts of the filter and all of these members. It looks at
 * windows of rows, and stops when the time is over or the signal is aborted, which cancels the running
 * statement.
 */
export async function searchPayload(
  pool: SqlPool,
  filter: ParkedFilter,
  members: readonly PayloadMember[],
  { timeoutMs, nowMs, signal }: SearchLimits,
): Promise<SearchResult> {
  await assertUsable(pool)
  const endMs = nowMs() + timeoutMs
  const isOver = () => nowMs() >= endMs || signal?.aborted === true
  const side = filter.newestFirst === true ? 'before' : 'after'
  const [first] = members.toSorted((a, b) => b.value.length - a.value.length)
  const rows: ParkedRow[] = []
  let next = filter[side] ?? null
  while (!isOver()) {
    const asked = { ...filter, ...(first !== undefined && mayHave(first)), [side]: next ?? undefined }
    const window = await readSearchWindow(pool, asked, { timeoutMs: endMs - nowMs(), signal })
    if (window === null) break
    for (const row of window.rows) {
      if (isOver()) return { rows, complete: false, next }
      if (first === undefined || (await bodyHas(pool, row.id, members))) rows.push(row)
      next = row.id
      if (rows.length === filter.countMax) return { rows, complete: true, next }
    }
    if (window.last === null) return { rows, complete: true, next: null }
    next = window.last
  }
  return { rows, complete: false, next }
}

/** False for a message that was settled in the meantime. */
async function bodyHas(pool: SqlPool, id: string, members: readonly PayloadMember[]): Promise<boolean> {
  const body = await readHeldBody(pool, id)
  return body !== null && hasMembers(body, members)
}
