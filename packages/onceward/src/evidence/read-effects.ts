import type { SqlClient } from '../drivers/postgres/pool.ts'
import { payload, shownBytesMax } from '../operations/parking/show-parked.ts'
import type { Event, Subject } from './explanation.ts'
import type { Marker } from './read-marker.ts'

/**
 * The ledger has no index on its messages: it would be written three times for each effect. But its numbers
 * grow with time, so the moment of a marker is found among them by halving, and the effects of a message
 * stand right behind it: they were recorded in the marker's transaction.
 */
const firstSince = `
  with recursive halved (low, high, step) as (
    select (select min(id) from onceward.ledger), (select max(id) + 1 from onceward.ledger), 0
    union all
    select case when early then middle + 1 else low end, case when early then high else middle end, step + 1
    from (select low, high, step, (low + high) / 2 as middle, coalesce((
        select l.created_at from onceward.ledger l where l.id >= (low + high) / 2 order by l.id limit 1) < $1::timestamptz + $2 * interval '1 second', false) as early
      from halved where low < high) cut)
  select low::text as id from halved order by step desc limit 1`

/**
 * Longest a transaction records effects after its marker's time; and how many rows of others are gone through
 * for it.
 */
export const windowSeconds = 30
export const rowsMax = 100_000

const columns = `l.id::text, l.consumer_name as consumer, l.target, l.effect_key as key, l.state::text, l.attempts, l.created_at, l.last_attempt_at, l.doubt_since,
  l.completed_at, l.run_id, l.message_id, l.response_status, l.last_error, encode(l.request_digest, 'hex') as digest, octet_length(l.body) as bytes`

const ofMessage = `
  select ${columns}, case when $5 then substring(l.body from 1 for ${shownBytesMax}) end as start
  from (select * from onceward.ledger where id >= $1 and id < $2 order by id limit ${rowsMax}) l
  where l.message_id = $3 and l.consumer_name = $4 limit 200`

const actions = `
  select at, actor, action, reason, from_state::text, to_state::text from onceward.ledger_action where ledger_id = any($1::bigint[]) order by id limit 1000`

export async function readLedger(
  client: SqlClient,
  { consumer, messageId }: Subject,
  marker: Marker | null,
  withPayload: boolean,
): Promise<readonly Event[]> {
  if (marker === null) return []
  const [first, last] = await Promise.all(
    [0, windowSeconds].map(later => client.query(firstSince, [marker.at, later])),
  )
  const from = first!.rows[0]?.id ?? null
  if (from === null) return []
  const values = [from, last!.rows[0].id, messageId, consumer, withPayload]
  const { rows } = await client.query(ofMessage, values)
  return ledgerEvents(client, rows)
}

/** Rows as `ledgerColumns` reads them. */
export async function ledgerEvents(
  client: SqlClient,
  rows: readonly Record<string, unknown>[],
): Promise<readonly Event[]> {
  if (rows.length === 0) return []
  const did = await client.query(actions, [rows.map(row => row.id)])
  return [
    ...rows.flatMap(effectEvents),
    ...did.rows.map(row => ({
      at: row.at,
      what: `ledger: ${row.action}`,
      by: row.actor,
      text: `${row.reason} (${row.from_state} became ${row.to_state})`,
    })),
  ]
}

export const ledgerColumns = columns

function effectEvents(row: Record<string, unknown>): Event[] {
  const { target, key, state, attempts, digest, response_status: status, last_error: error } = row
  const named = `${target}/${key}`
  const facts = { ledgerId: row.id, target, key, state, attempts, digest, status }
  const start =
    row.start instanceof Uint8Array ? { body: payload(row.start as Buffer, row.bytes as number) } : {}
  const events: Event[] = [
    {
      at: row.created_at as Date,
      what: 'external effect asked for',
      text: named,
      runId: row.run_id as number,
      facts: { ...facts, ...start },
    },
  ]
  const calls = `${attempts} call${attempts === 1 ? '' : 's'}`
  const last = row.last_attempt_at as Date | null
  if (last !== null && row.completed_at === null)
    events.push({
      at: last,
      what: 'external call',
      text: `${named}: ${state} after ${calls}${error === null ? '' : `: ${error}`}`,
      facts,
    })
  if (row.completed_at !== null)
    events.push({
      at: row.completed_at as Date,
      what: 'external effect completed',
      text: `${named}: ${status === null ? 'done' : `answered ${status}`} after ${calls}`,
      facts,
    })
  return events
}
