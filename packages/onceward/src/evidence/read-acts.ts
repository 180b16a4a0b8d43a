import type { SqlClient } from '../drivers/postgres/pool.ts'
import type { Event, Subject } from './explanation.ts'

const lineage = `
  select held_id::text as id, at, actor, kind, reason, encode(digest_before, 'hex') as before, encode(digest_after, 'hex') as after
  from onceward.fix where consumer_id = $1 and message_id = $2 order by id limit 100`

const redrives = `
  select rr.held_id::text as id, r.request_id, r.at, r.actor, r.reason, rr.state, rr.why, rr.moved_at, rr.outcome, rr.behind
  from onceward.redrive_row rr join onceward.redrive r on r.id = rr.redrive_id
  where rr.message_id = $2 and r.consumer_id = $1 limit 100`

const actions = `
  select at, actor as by, reason as because, action as did, held_id::text as id from onceward.held_action where held_id = any($1::bigint[]) limit 1000`
const triage = `
  select at, actor, concat_ws(', ', label, assignee, note) as text, held_id::text as id from onceward.triage where held_id = any($1::bigint[])`
const approvals = `
  select id::text, verb, reason, requested_by, requested_at, approved_by, approved_at, executed_by, executed_at
  from onceward.approval where held_ids && $1::bigint[] limit 100`

/** What people did to the message, found by its own name and by those of the rows it was held under. */
export async function readActs(
  client: SqlClient,
  { consumerId, messageId }: Subject,
  heldIds: readonly string[],
): Promise<readonly Event[]> {
  const values = [consumerId, messageId]
  const [fixes, moves] = await Promise.all([client.query(lineage, values), client.query(redrives, values)])
  const ids = [...new Set([...heldIds, ...fixes.rows.map(row => row.id), ...moves.rows.map(row => row.id)])]
  if (ids.length === 0) return []
  const [did, said, approved] = await Promise.all([
    client.query(actions, [ids]),
    client.query(triage, [ids]),
    client.query(approvals, [ids]),
  ])
  return [
    ...fixes.rows.map(fixEvent),
    ...moves.rows.flatMap(moveEvents),
    ...did.rows.map(({ at, did: what, by, because, id }) => ({
      at,
      what,
      by,
      text: because,
      facts: { heldId: id },
    })),
    ...said.rows.map(({ at, actor, text, id }) => ({
      at,
      what: 'classified',
      by: actor,
      text,
      facts: { heldId: id },
    })),
    ...approved.rows.flatMap(approvalEvents),
  ]
}

function fixEvent({ id, at, actor, kind, reason, before, after }: Record<string, unknown>): Event {
  const text = `${reason} (${String(before).slice(0, 12)} became ${String(after).slice(0, 12)})`
  return {
    at: at as Date,
    what: `fixed ${kind}`,
    by: String(actor),
    text,
    facts: { heldId: id, before, after },
  }
}

function moveEvents(row: Record<string, unknown>): Event[] {
  const { id, request_id, at, actor, reason, state, why, moved_at, outcome, behind } = row
  const facts = { heldId: id, request: request_id, outcome, behind }
  const by = String(actor)
  const asked: Event = { at: at as Date, what: 'replay asked for', by, text: String(reason), facts }
  if (moved_at === null) return [asked]
  const given = behind ? 'given back to workers behind another of its key' : 'given back to workers'
  const text = state === 'left' ? String(why) : given
  return [asked, { at: moved_at as Date, what: `replay ${state}`, by, text, facts }]
}

function approvalEvents(row: Record<string, unknown>): Event[] {
  const { id, verb, reason } = row
  const step = (at: unknown, what: string, by: unknown): Event[] =>
    at === null
      ? []
      : [{ at: at as Date, what, by: String(by), text: String(reason), facts: { approval: id } }]
  return [
    ...step(row.requested_at, `${verb} requested`, row.requested_by),
    ...step(row.approved_at, `${verb} approved`, row.approved_by),
    ...step(row.executed_at, `${verb} executed`, row.executed_by),
  ]
}
