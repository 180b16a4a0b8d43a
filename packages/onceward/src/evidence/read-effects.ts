import { type LedgerRow, readLedgerActions, readLedgerOf } from '../drivers/postgres/evidence/read-ledger.ts'
import type { SqlClient } from '../drivers/postgres/pool.ts'
import { payload, shownBytesMax } from '../operations/parking/show-parked.ts'
import type { Event, Subject } from './explanation.ts'

export async function readLedger(
  client: SqlClient,
  subject: Subject,
  withPayload: boolean,
): Promise<readonly Event[]> {
  const rows = await readLedgerOf(client, subject, withPayload ? shownBytesMax : null)
  return ledgerEvents(client, rows)
}

export async function ledgerEvents(client: SqlClient, rows: readonly LedgerRow[]): Promise<readonly Event[]> {
  if (rows.length === 0) return []
  const did = await readLedgerActions(
    client,
    rows.map(row => row.id),
  )
  return [
    ...rows.flatMap(effectEvents),
    ...did.map(row => ({
      at: row.at,
      what: `ledger: ${row.action}`,
      by: row.actor,
      text: `${row.reason} (${row.from_state} became ${row.to_state})`,
    })),
  ]
}

function effectEvents(row: LedgerRow): Event[] {
  const { target, key, state, attempts, digest, response_status: status, last_error: error } = row
  const named = `${target}/${key}`
  const facts = {
    ledgerId: row.id,
    type: row.type,
    target,
    key,
    businessKey: row.businessKey,
    state,
    attempts,
    digest,
    status,
  }
  const start = row.start == null ? {} : { body: payload(row.start, row.bytes) }
  const events: Event[] = [
    {
      at: row.created_at,
      what: 'external effect requested',
      text: named,
      runId: row.run_id,
      facts: { ...facts, ...start },
    },
  ]
  const calls = `${attempts} call${attempts === 1 ? '' : 's'}`
  const last = row.last_attempt_at
  if (last !== null && row.completed_at === null)
    events.push({
      at: last,
      what: 'external call',
      text: `${named}: ${state} after ${calls}${error === null ? '' : `: ${error}`}`,
      facts,
    })
  if (row.completed_at !== null)
    events.push({
      at: row.completed_at,
      what: 'external effect completed',
      text: `${named}: ${status === null ? 'done' : `answered ${status}`} after ${calls}`,
      facts,
    })
  return events
}
