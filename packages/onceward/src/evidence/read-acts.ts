import {
  type ApprovalRow,
  type FixRow,
  type RedriveRow,
  readApprovals,
  readClassifications,
  readFixes,
  readHeldActions,
  readRedrives,
} from '../drivers/postgres/evidence/read-acts.ts'
import type { SqlClient } from '../drivers/postgres/pool.ts'
import type { Event, Subject } from './explanation.ts'

/** Acts of operators on the message, found by its id and by the rows it was held under. */
export async function readActs(
  client: SqlClient,
  subject: Subject,
  heldIds: readonly string[],
): Promise<readonly Event[]> {
  const [fixes, moves] = await Promise.all([readFixes(client, subject), readRedrives(client, subject)])
  const ids = [...new Set([...heldIds, ...fixes.map(row => row.id), ...moves.map(row => row.id)])]
  if (ids.length === 0) return []
  const [did, classified, approved] = await Promise.all([
    readHeldActions(client, ids),
    readClassifications(client, ids),
    readApprovals(client, ids),
  ])
  return [
    ...fixes.map(fixEvent),
    ...moves.flatMap(moveEvents),
    ...did.map(({ at, did: what, by, because, id }) => ({
      at,
      what,
      by,
      text: because,
      facts: { heldId: id },
    })),
    ...classified.map(({ at, actor, text, id }) => ({
      at,
      what: 'classified',
      by: actor,
      text,
      facts: { heldId: id },
    })),
    ...approved.flatMap(approvalEvents),
  ]
}

function fixEvent({ id, at, actor, kind, reason, before, after }: FixRow): Event {
  const text = `${reason} (${before.slice(0, 12)} became ${after.slice(0, 12)})`
  return {
    at,
    what: `fixed ${kind}`,
    by: actor,
    text,
    facts: { heldId: id, before, after },
  }
}

function moveEvents(row: RedriveRow): Event[] {
  const { id, request_id, at, actor, reason, state, why, moved_at, outcome, behind } = row
  const facts = { heldId: id, request: request_id, outcome, behind }
  const asked: Event = { at, what: 'redrive requested', by: actor, text: reason, facts }
  if (moved_at === null) return [asked]
  const given = behind ? 'returned to workers behind another message of its key' : 'returned to workers'
  const text = state === 'left' ? String(why) : given
  return [asked, { at: moved_at, what: `redrive ${state}`, by: actor, text, facts }]
}

function approvalEvents(row: ApprovalRow): Event[] {
  const { id, verb, reason } = row
  const step = (at: Date | null, what: string, by: string | null): Event[] =>
    at === null ? [] : [{ at, what, by, text: reason, facts: { approval: id } }]
  return [
    ...step(row.requested_at, `${verb} requested`, row.requested_by),
    ...step(row.approved_at, `${verb} approved`, row.approved_by),
    ...step(row.executed_at, `${verb} executed`, row.executed_by),
  ]
}
