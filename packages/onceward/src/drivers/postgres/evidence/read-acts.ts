import type { SqlClient } from '../pool.ts'
import type { MessageOfConsumer } from './read-marker.ts'

const lineage = `
  select held_id::text as id, at, actor, kind, reason, encode(digest_before, 'hex') as before, encode(digest_after, 'hex') as after
  from onceward.fix where consumer_id = $1 and message_id = $2 order by id limit 100`

export interface FixRow {
  readonly id: string
  readonly at: Date
  readonly actor: string
  readonly kind: string
  readonly reason: string
  readonly before: string
  readonly after: string
}

export async function readFixes(
  client: SqlClient,
  { consumerId, messageId }: MessageOfConsumer,
): Promise<readonly FixRow[]> {
  return (await client.query(lineage, [consumerId, messageId])).rows
}

const redrives = `
  select rr.held_id::text as id, r.request_id, r.at, r.actor, r.reason, rr.state, rr.why, rr.moved_at, rr.outcome, rr.behind
  from onceward.redrive_row rr join onceward.redrive r on r.id = rr.redrive_id
  where rr.message_id = $2 and r.consumer_id = $1 limit 100`

export interface RedriveRow {
  readonly id: string
  readonly request_id: string
  readonly at: Date
  readonly actor: string
  readonly reason: string
  readonly state: string
  readonly why: string | null
  readonly moved_at: Date | null
  readonly outcome: string | null
  readonly behind: boolean
}

export async function readRedrives(
  client: SqlClient,
  { consumerId, messageId }: MessageOfConsumer,
): Promise<readonly RedriveRow[]> {
  return (await client.query(redrives, [consumerId, messageId])).rows
}

const actions = `
  select at, actor as by, reason as because, action as did, held_id::text as id from onceward.held_action where held_id = any($1::bigint[]) limit 1000`
export interface HeldActionRow {
  readonly at: Date
  readonly by: string
  readonly because: string
  readonly did: string
  readonly id: string
}

export async function readHeldActions(
  client: SqlClient,
  heldIds: readonly string[],
): Promise<readonly HeldActionRow[]> {
  return (await client.query(actions, [heldIds])).rows
}

const classifications = `
  select at, actor, concat_ws(', ', label, assignee, note) as text, held_id::text as id from onceward.classification where held_id = any($1::bigint[])`

export interface ClassificationRow {
  readonly at: Date
  readonly actor: string
  readonly text: string
  readonly id: string
}

export async function readClassifications(
  client: SqlClient,
  heldIds: readonly string[],
): Promise<readonly ClassificationRow[]> {
  return (await client.query(classifications, [heldIds])).rows
}

const approvals = `
  select id::text, verb, reason, requested_by, requested_at, approved_by, approved_at, executed_by, executed_at
  from onceward.approval where held_ids && $1::bigint[] limit 100`

export interface ApprovalRow {
  readonly id: string
  readonly verb: string
  readonly reason: string
  readonly requested_by: string
  readonly requested_at: Date
  readonly approved_by: string | null
  readonly approved_at: Date | null
  readonly executed_by: string | null
  readonly executed_at: Date | null
}

export async function readApprovals(
  client: SqlClient,
  heldIds: readonly string[],
): Promise<readonly ApprovalRow[]> {
  return (await client.query(approvals, [heldIds])).rows
}
