import type { SqlPool } from '../pool.ts'

/** One external effect as operators see it: the length and digest of its body, never the body. */
export interface LedgerEntry {
  readonly id: string
  readonly consumer: string
  readonly target: string
  readonly key: string
  readonly state: string
  /** No dispatcher retries it; an operator must decide. */
  readonly waitsForPeople: boolean
  readonly attempts: number
  readonly createdAt: Date
  readonly lastAttemptAt: Date | null
  readonly completedAt: Date | null
  readonly note: string | null
}

export interface LedgerDetail extends LedgerEntry {
  readonly messageId: string
  readonly runId: number
  readonly epoch: number
  readonly doubtSince: Date | null
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
  readonly target?: string | undefined
  /** Default: effects that wait for people. `open`: all that are not completed. */
  readonly state?: string | undefined
  readonly limit?: number | undefined
}

const entry = `ledger.id::text, consumer_name as consumer, target, effect_key as key, state::text,
  state <> 'completed' and due_at = 'infinity' as "waitsForPeople", attempts, created_at as "createdAt",
  last_attempt_at as "lastAttemptAt", completed_at as "completedAt", last_error as note`

/** Oldest first. Without a state it reads only the index of open effects. */
export async function readLedgerList(pool: SqlPool, filter: LedgerFilter): Promise<readonly LedgerEntry[]> {
  const { state, consumer, target, limit = 50 } = filter
  const wanted =
    state === undefined
      ? `state <> 'completed' and due_at = 'infinity'`
      : state === 'open'
        ? `state <> 'completed'`
        : 'state = $4::onceward.effect_state'
  const { rows } = await pool.query(
    `select ${entry} from onceward.ledger
     where ${wanted} and ($1::text is null or consumer_name = $1) and ($2::text is null or target = $2)
     order by ledger.id limit $3`,
    [consumer ?? null, target ?? null, limit, ...(wanted.includes('$4') ? [state] : [])],
  )
  return rows
}

/** Null when there is no such effect. */
export async function readLedgerEntry(pool: SqlPool, id: string): Promise<LedgerDetail | null> {
  const { rows } = await pool.query(
    `select ${entry}, message_id as "messageId", run_id as "runId", epoch, doubt_since as "doubtSince",
       content_type as "contentType", length(body) as "bodyBytes", encode(request_digest, 'hex') as "requestDigest",
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
