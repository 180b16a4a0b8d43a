import type { SqlClient } from '../pool.ts'

const columns = `l.id::text, l.consumer_name as consumer, l.target, l.effect_key as key, l.effect_type as type, l.business_key as "businessKey", l.state::text, l.attempts, l.created_at, l.last_attempt_at, l.doubt_since,
  l.completed_at, l.run_id, l.message_id, l.response_status, l.last_error, encode(l.request_digest, 'hex') as digest, octet_length(l.body) as bytes`

export interface LedgerRow {
  readonly id: string
  readonly consumer: string
  readonly target: string
  readonly key: string
  readonly type: string | null
  readonly businessKey: string | null
  readonly state: string
  readonly attempts: number
  readonly created_at: Date
  readonly last_attempt_at: Date | null
  readonly doubt_since: Date | null
  readonly completed_at: Date | null
  readonly run_id: number
  readonly message_id: string
  readonly response_status: number | null
  readonly last_error: string | null
  readonly digest: string
  readonly bytes: number
  readonly start?: Buffer | null
}

const ofMessage = (bytesMax: number) => `
  select ${columns}, case when $3 then substring(l.body from 1 for ${bytesMax}) end as start
  from onceward.ledger l where l.consumer_name = $1 and l.message_id = $2 order by l.id limit 200`

/** The effects that the message requested. `bodyBytesMax`: null reads no body. */
export async function readLedgerOf(
  client: SqlClient,
  { consumer, messageId }: { readonly consumer: string; readonly messageId: string },
  bodyBytesMax: number | null,
): Promise<readonly LedgerRow[]> {
  const values = [consumer, messageId, bodyBytesMax !== null]
  return (await client.query(ofMessage(bodyBytesMax ?? 0), values)).rows
}

/** Consumers and targets in the ledger, by a loose index scan. */
const targets = `
  with recursive known as (
    (select consumer_name, target from onceward.ledger order by consumer_name, target limit 1)
    union all
    select next.* from known k cross join lateral (
      select l.consumer_name, l.target from onceward.ledger l where (l.consumer_name, l.target) > (k.consumer_name, k.target)
      order by l.consumer_name, l.target limit 1) next)
  select consumer_name, target from known
  where ($1::text is null or consumer_name = $1) and ($2::text is null or target = $2)`

const ofKey = `
  select ${columns} from (${targets}) k
  cross join lateral (select * from onceward.ledger l
    where l.consumer_name = k.consumer_name and l.target = k.target and l.effect_key = $3 limit 1) l`

/** Ledger rows with this key, of all consumers and targets. */
export async function findEffects(
  client: SqlClient,
  key: string,
  target: string | null,
  consumer: string | undefined,
): Promise<readonly LedgerRow[]> {
  return (await client.query(ofKey, [consumer ?? null, target, key])).rows
}

const actions = `
  select at, actor, action, reason, from_state::text, to_state::text from onceward.ledger_action where ledger_id = any($1::bigint[]) order by id limit 1000`

export interface LedgerActionRow {
  readonly at: Date
  readonly actor: string
  readonly action: string
  readonly reason: string
  readonly from_state: string
  readonly to_state: string
}

export async function readLedgerActions(
  client: SqlClient,
  ids: readonly string[],
): Promise<readonly LedgerActionRow[]> {
  return (await client.query(actions, [ids])).rows
}
