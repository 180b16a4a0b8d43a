import type { SqlPool } from '../pool.ts'
import { isoTime } from '../sql/iso-time.ts'

/** One act of an operator, as the audit records it. */
export interface AuditRow {
  readonly seq: string
  /** In UTC with microseconds, as hashed. */
  readonly at: string
  readonly actor: string
  readonly action: string
  readonly outcome: 'done' | 'refused'
  readonly consumer: string | null
  readonly subject: string | null
  readonly reason: string
  /** JSON text. */
  readonly detail: string
  readonly hash: string
}

const page = `
  select seq::text, ${isoTime('at')} as at, actor, action, outcome, consumer, subject, reason,
    detail::text, encode(hash, 'hex') as hash, encode(previous, 'hex') as previous
  from onceward.audit where audit.seq > $1 order by audit.seq limit 1000`

/** A row with the hash of the row before it. */
export interface ChainedRow extends AuditRow {
  readonly previous: string
}

/** The next 1,000 rows of the chain at most. */
export async function readAuditPage(pool: SqlPool, after: bigint): Promise<readonly ChainedRow[]> {
  return (await pool.query(page, [after])).rows
}

export async function readAuditHead(
  pool: SqlPool,
): Promise<{ readonly seq: string; readonly hash: string } | undefined> {
  return (await pool.query(`select seq::text, encode(hash, 'hex') as hash from onceward.audit_head`)).rows[0]
}

export interface AuditFilter {
  readonly consumer?: string | undefined
  /** Only of these consumers. */
  readonly consumers?: readonly string[] | undefined
  /** Number of the last row of the previous page. */
  readonly before?: string | undefined
  readonly countMax: number
}

/** Newest first. */
export async function readAudit(
  pool: SqlPool,
  { consumer, consumers, before, countMax }: AuditFilter,
): Promise<readonly AuditRow[]> {
  const { rows } = await pool.query(
    `select seq::text, ${isoTime('at')} as at, actor, action, outcome, consumer, subject,
       reason, detail::text, encode(hash, 'hex') as hash
     from onceward.audit
     where ($1::text is null or consumer = $1) and ($3::text[] is null or consumer = any ($3))
       and ($4::bigint is null or audit.seq < $4)
     order by audit.seq desc limit $2`,
    [consumer ?? null, countMax, consumers ?? null, before ?? null],
  )
  return rows
}
