import type { EffectTrace } from '../contract/declared-effect.ts'
import { inTransaction } from '../drivers/postgres/in-transaction.ts'
import type { SqlClient, SqlPool } from '../drivers/postgres/pool.ts'
import type { Event, ExplainOptions, Subject } from './explanation.ts'

/** Rows in the user's own tables. */
export interface Traced {
  readonly events: readonly Event[]
  /** `table key`, for each row. */
  readonly rows: readonly string[]
  readonly limits: readonly string[]
}

interface TraceRow {
  readonly message: string | null
  readonly key: string | null
  readonly version: string | null
  readonly at: Date | null
  readonly shown: Readonly<Record<string, string | null>>
}

const rowsMax = 20
const timeout = '5s'

export async function readTraces(
  pool: SqlPool,
  subject: Subject,
  { contract, payload }: ExplainOptions,
): Promise<Traced> {
  if (contract?.name !== subject.consumer) return { events: [], rows: [], limits: [] }
  const traced: { events: Event[]; rows: string[]; limits: string[] } = { events: [], rows: [], limits: [] }
  for (const trace of contract.effect?.apply?.traces?.() ?? []) {
    if (trace.message === null) continue
    const found = await patiently(pool, trace.table, trace.message, traced.limits, client =>
      traceRows(client, trace, trace.message!, subject.messageId, subject.consumer, payload === true),
    )
    for (const row of found ?? []) {
      traced.events.push(traceEvent(trace, row))
      traced.rows.push(`${trace.table} ${row.key}`)
    }
  }
  const { reconcile } = contract
  if (reconcile === undefined) return traced
  const rows = await patiently(
    pool,
    'the query reconcile.effects',
    'message_id',
    traced.limits,
    async client => {
      const { rows } = await client.query(
        `select count(*)::integer as count from (${reconcile.effects}) as e where e.message_id = $1`,
        [subject.messageId],
      )
      return rows[0].count as number
    },
  )
  if (rows !== null && rows > 0) traced.rows.push(`${rows} of reconcile.effects`)
  return traced
}

/** Rows of an aggregate, the newest last where they have a time. */
export function readAggregate(
  pool: SqlPool,
  trace: EffectTrace,
  id: string,
  consumer: string,
  limits: string[],
): Promise<readonly TraceRow[] | null> {
  return patiently(pool, trace.table, trace.key!, limits, client =>
    traceRows(client, trace, trace.key!, id, consumer, false),
  )
}

/** User tables may be large and lack an index, so the search is read-only and short. */
async function patiently<T>(
  pool: SqlPool,
  table: string,
  column: string,
  limits: string[],
  look: (client: SqlClient) => Promise<T>,
): Promise<T | null> {
  try {
    return await inTransaction(pool, async client => {
      await client.query(`set transaction read only; set local statement_timeout = '${timeout}'`)
      return look(client)
    })
  } catch (error) {
    const slow = (error as { code?: string }).code === '57014'
    const why = slow ? `took longer than ${timeout}; add an index on ${column}` : (error as Error).message
    limits.push(`The search in ${table} failed: ${why}.`)
    return null
  }
}

async function traceRows(
  client: SqlClient,
  trace: EffectTrace,
  by: string,
  value: string,
  consumer: string,
  withContent: boolean,
): Promise<readonly TraceRow[]> {
  const { rows: found } = await client.query(
    `select a.attname::text as name, quote_ident(a.attname) as quoted, a.attrelid::regclass::text as "table"
     from pg_catalog.pg_attribute a where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped`,
    [trace.table],
  )
  const quoted = new Map(found.map(row => [row.name as string, row.quoted as string]))
  if (!quoted.has(by)) return []
  const text = (column: string | null) => {
    const name = column === null ? undefined : quoted.get(column)
    return name === undefined ? 'null::text' : `t.${name}::text`
  }
  const shown = [...trace.shown, ...(withContent ? trace.content : [])].filter(column => quoted.has(column))
  const at = trace.at !== null && quoted.has(trace.at) ? `t.${quoted.get(trace.at)}` : 'null::timestamptz'
  const mine =
    trace.consumer !== null && quoted.has(trace.consumer)
      ? `and t.${quoted.get(trace.consumer)} = $2`
      : 'and $2::text is not null'
  const { rows } = await client.query(
    `select ${text(trace.message)} as message, ${text(trace.key)} as key, ${text(trace.version)} as version, ${at} as at,
       array[${shown.map(text).join(', ')}]::text[] as shown
     from ${found[0].table} t where t.${quoted.get(by)} = $1 ${mine} order by ${at} desc nulls last, 3 desc, 1 desc limit ${rowsMax}`,
    [value, consumer],
  )
  return rows
    .map(row => ({ ...row, shown: Object.fromEntries(shown.map((column, n) => [column, row.shown[n]])) }))
    .reverse()
}

function traceEvent({ table, covers }: EffectTrace, { at, key, version, shown }: TraceRow): Event {
  const said = Object.entries(shown).map(([column, value]) => `${column} ${value ?? 'null'}`)
  const about = [key, ...(version === null ? [] : [`version ${version}`]), ...said]
  const text = `${about.join(', ')}${covers === 'some' ? ' (current state)' : ''}`
  return { at, what: `wrote ${table}`, text, facts: { table, key, version, ...shown } }
}
