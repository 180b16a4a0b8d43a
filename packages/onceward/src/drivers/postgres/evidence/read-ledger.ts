import type { SqlClient } from '../pool.ts'

/**
 * The ledger has no index on its messages: it would be written three times for each effect. Ledger numbers
 * grow with time, so a binary search finds the marker's time among them. The effects of a message follow
 * directly, since they were recorded in the marker's transaction.
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
 * How long after its marker's time a transaction may record effects, and how many rows of other messages are
 * scanned.
 */
export const windowSeconds = 30
export const rowsMax = 100_000

const columns = `l.id::text, l.consumer_name as consumer, l.target, l.effect_key as key, l.state::text, l.attempts, l.created_at, l.last_attempt_at, l.doubt_since,
  l.completed_at, l.run_id, l.message_id, l.response_status, l.last_error, encode(l.request_digest, 'hex') as digest, octet_length(l.body) as bytes`

export interface LedgerRow {
  readonly id: string
  readonly consumer: string
  readonly target: string
  readonly key: string
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
  select ${columns}, case when $5 then substring(l.body from 1 for ${bytesMax}) end as start
  from (select * from onceward.ledger where id >= $1 and id < $2 order by id limit ${rowsMax}) l
  where l.message_id = $3 and l.consumer_name = $4 limit 200`

/** Effects recorded within `windowSeconds` of the marker's time. `bodyBytesMax`: null reads no body. */
export async function readLedgerSince(
  client: SqlClient,
  { consumer, messageId }: { readonly consumer: string; readonly messageId: string },
  at: Date,
  bodyBytesMax: number | null,
): Promise<readonly LedgerRow[]> {
  const [first, last] = await Promise.all(
    [0, windowSeconds].map(later => client.query(firstSince, [at, later])),
  )
  const from = first!.rows[0]?.id ?? null
  if (from === null) return []
  const values = [from, last!.rows[0].id, messageId, consumer, bodyBytesMax !== null]
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
