import { cancelStatements } from '../cancel-statements.ts'
import { type TransactionName, transactionName } from '../end-statements.ts'
import { inTransaction } from '../in-transaction.ts'
import type { SqlClient, SqlPool } from '../pool.ts'
import { knownState, type ParkedFilter, type ParkedRow, parkedStates, selectParked } from './read-parked.ts'

/** A search reads payloads window by window: a window ends after so many rows, or after so many bytes. */
const rowsMax = 2_000
const bytesMax = 16 * 1024 * 1024

/** The part of a filter that a walk of the index of consumers, states and ids serves. */
type Walk = Pick<ParkedFilter, 'consumer' | 'consumers' | 'states' | 'before' | 'after' | 'newestFirst'>

/** Lengths are read from the heads of the rows, not from the payloads. */
const selectWindow = ({ states = parkedStates, newestFirst }: Walk) => {
  const order = newestFirst === true ? 'desc' : 'asc'
  const walks = states.map(
    state => `
      (select h.id, h.bytes from onceward.consumer c cross join lateral (
         select h.id, octet_length(h.body) as bytes from onceward.held h
         where h.consumer_id = c.id and h.state = '${knownState(state)}'
           and ($3::bigint is null or h.id + 0 < $3) and ($4::bigint is null or h.id + 0 > $4)
         order by h.id + 0 ${order} limit ${rowsMax}) h
       where ($1::text is null or c.name = $1) and ($2::text[] is null or c.name = any ($2)))`,
  )
  return `
    select id::text, count(*) over ()::integer as rows from (
      select id, sum(bytes) over (order by id ${order}) - bytes as before from (
        select * from (${walks.join(' union all ')}) w order by id ${order} limit ${rowsMax}) w) w
    where before < ${bytesMax} order by id ${newestFirst === true ? 'asc' : 'desc'} limit 1`
}

export interface SearchWindow {
  /** The rows of the window that match. */
  readonly rows: readonly ParkedRow[]
  /** The last id that was looked at; null when no row was left. */
  readonly last: string | null
}

/** How long the statements of a window may run. */
interface WindowLimits {
  readonly timeoutMs: number
  /** Aborted when the rows are not wanted any more: the running statement is cancelled. */
  readonly signal?: AbortSignal | undefined
}

/** The next window, in one transaction. Null when it was cancelled. `after` and `before` begin it. */
export async function readSearchWindow(
  pool: SqlPool,
  filter: ParkedFilter,
  { timeoutMs, signal }: WindowLimits,
): Promise<SearchWindow | null> {
  try {
    return await inTransaction(pool, async client => {
      const { rows } = await client.query(
        `select set_config('statement_timeout', $1, true), ${transactionName}`,
        [String(Math.max(1, Math.ceil(timeoutMs)))],
      )
      return whileWanted(pool, rows[0], signal, () => readWindow(client, filter, signal))
    })
  } catch (error) {
    if ((error as { code?: string }).code === '57014') return null
    throw error
  }
}

async function readWindow(
  client: SqlClient,
  filter: ParkedFilter,
  signal: AbortSignal | undefined,
): Promise<SearchWindow | null> {
  if (signal?.aborted) return null
  const { consumer = null, consumers = null, before = null, after = null } = filter
  const { rows: bounds } = await client.query(selectWindow(filter), [consumer, consumers, before, after])
  const last = (bounds[0]?.id as string | undefined) ?? null
  if (last === null) return { rows: [], last }
  if (signal?.aborted) return null
  const edge = filter.newestFirst === true ? { after: minusOne(last) } : { before: plusOne(last) }
  const { text, values } = selectParked({ ...filter, ...edge, countMax: rowsMax })
  return { rows: (await client.query(text, values)).rows, last }
}

/** Another connection cancels the statement, so that the server does not work for a reader who has left. */
async function whileWanted<T>(
  pool: SqlPool,
  name: TransactionName,
  signal: AbortSignal | undefined,
  read: () => Promise<T>,
): Promise<T> {
  const reading = read()
  let cancelling = Promise.resolve()
  const onAbort = () => {
    cancelling = cancelStatements(reading, name, pool)
  }
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    return await reading
  } finally {
    signal?.removeEventListener('abort', onAbort)
    // The transaction ends after it, so that no request can reach the next statement of this connection.
    await cancelling
  }
}

const minusOne = (id: string) => String(BigInt(id) - 1n)
const plusOne = (id: string) => String(BigInt(id) + 1n)
