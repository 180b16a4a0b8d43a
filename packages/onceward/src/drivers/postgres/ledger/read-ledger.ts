import type { SqlPool } from '../pool.ts'

/** One external effect as operators see it: the length and digest of its body, never the body. */
export interface LedgerEntry {
  readonly id: string
  readonly consumer: string
  readonly target: string
  readonly key: string
  /** The kind of the target; null for rows of older versions. */
  readonly type: string | null
  readonly messageId: string
  readonly businessKey: string | null
  readonly state: string
  /** No dispatcher retries it; an operator must decide. */
  readonly waitsForPeople: boolean
  readonly attempts: number
  readonly createdAt: Date
  readonly lastAttemptAt: Date | null
  readonly completedAt: Date | null
  readonly note: string | null
}

/** One external effect as it is stored, with its acts. */
export interface LedgerRecord extends LedgerEntry {
  readonly runId: number
  readonly epoch: number
  readonly doubtSince: Date | null
  /** Of an e-mail; null for every other kind. */
  readonly mailBody: Uint8Array | null
  readonly contentType: string
  readonly bodyBytes: number
  readonly requestDigest: string
  readonly responseStatus: number | null
  readonly responseDigest: string | null
  readonly responseExcerpt: string | null
  readonly actions: readonly LedgerAction[]
}

export interface LedgerAction {
  readonly at: Date
  readonly actor: string
  readonly action: string
  readonly reason: string
  readonly from: string
  readonly to: string
}

export interface LedgerFilter {
  readonly consumer?: string | undefined
  /** Only of these consumers. */
  readonly consumers?: readonly string[] | undefined
  readonly target?: string | undefined
  /** The kind of the target. */
  readonly type?: string | undefined
  readonly key?: string | undefined
  readonly message?: string | undefined
  readonly businessKey?: string | undefined
  /**
   * `open`: all that are not completed. Default: every state if the filter names a message, a key or a
   * business key, else effects that need attention.
   */
  readonly state?: string | undefined
  readonly limit?: number | undefined
}

const entry = `ledger.id::text, consumer_name as consumer, target, effect_key as key, effect_type as type, message_id as "messageId",
  business_key as "businessKey", state::text,
  state <> 'completed' and due_at = 'infinity' as "waitsForPeople", attempts, created_at as "createdAt",
  last_attempt_at as "lastAttemptAt", completed_at as "completedAt", last_error as note`

const statesOf = (state: string | undefined, isNamed: boolean) => {
  if (state === 'open') return `state <> 'completed'`
  if (state !== undefined) return 'state = $8::onceward.effect_state'
  return isNamed ? 'true' : `state <> 'completed' and due_at = 'infinity'`
}

/**
 * Oldest first. Without a state it reads only the index of open effects; a message and a business key are
 * found by their index.
 */
export async function readLedgerList(pool: SqlPool, filter: LedgerFilter): Promise<readonly LedgerEntry[]> {
  const { state, consumer, consumers, target, type, key, message, businessKey, limit = 50 } = filter
  const named = { message_id: message, business_key: businessKey, effect_key: key }
  const wanted = statesOf(
    state,
    Object.values(named).some(value => value !== undefined),
  )
  // Conditions that are not asked for are left out: an index serves only what the text names.
  const values: unknown[] = [limit]
  const conditions = Object.entries({ consumer_name: consumer, target, effect_type: type, ...named }).flatMap(
    ([column, value]) => (value === undefined ? [] : [`${column} = $${values.push(value)}`]),
  )
  if (consumers !== undefined) conditions.push(`consumer_name = any ($${values.push(consumers)}::text[])`)
  const states = wanted.replace('$8', `$${values.length + 1}`)
  if (wanted.includes('$8')) values.push(state)
  const { rows } = await pool.query(
    `select ${entry} from onceward.ledger where ${[states, ...conditions].join(' and ')} order by ledger.id limit $1`,
    values,
  )
  return rows
}

/** Null when there is no such effect. */
export async function readLedgerEntry(pool: SqlPool, id: string): Promise<LedgerRecord | null> {
  const { rows } = await pool.query(
    `select ${entry}, run_id as "runId", epoch, doubt_since as "doubtSince",
       case when effect_type = 'email' then body end as "mailBody", content_type as "contentType", length(body) as "bodyBytes", encode(request_digest, 'hex') as "requestDigest",
       response_status as "responseStatus", encode(response_digest, 'hex') as "responseDigest",
       response_excerpt as "responseExcerpt"
     from onceward.ledger where id = $1`,
    [id],
  )
  if (rows.length === 0) return null
  const actions = await pool.query(
    `select at, actor, action, reason, from_state::text as "from", to_state::text as "to"
     from onceward.ledger_action where ledger_id = $1 order by id`,
    [id],
  )
  return { ...rows[0], actions: actions.rows }
}
