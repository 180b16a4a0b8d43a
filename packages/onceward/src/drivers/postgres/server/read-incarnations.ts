import type { SqlPool } from '../pool.ts'

/** An incarnation of the database server. Every consumer halts until it is accepted. */
export interface RecordedIncarnation {
  readonly id: string
  readonly systemIdentifier: string | null
  readonly timeline: number | null
  readonly detectedAt: Date
  readonly why: string
  /** The login that recorded it; null when it was not kept. */
  readonly detectedBy: string | null
  /** The newest heartbeat in this copy: everything committed before it is present. */
  readonly completeUntil: Date | null
  readonly acceptedAt: Date | null
  readonly acceptedBy: string | null
  readonly acceptedBecause: string | null
}

/** Possible losses of one consumer, and how to recover them. */
export interface Exposure {
  readonly consumer: string
  readonly kind: string
  readonly place: string
  readonly reader: string
  /** Where the position is kept; a queue discards acknowledged messages. */
  readonly keeper: 'broker' | 'store' | 'queue'
  /** Where reading restarts, by partition; empty for queues. */
  readonly partitions: readonly { readonly partition: string; readonly next: string }[]
  /** Targets it has called. A call missing in this copy may be repeated under its idempotency key. */
  readonly targets: readonly string[]
}

const columns = `id::text, system_identifier as "systemIdentifier", timeline, detected_at as "detectedAt", reason as why, detected_by as "detectedBy", complete_until as "completeUntil",
  accepted_at as "acceptedAt", accepted_by as "acceptedBy", accepted_reason as "acceptedBecause"`

/** An approver may read incarnations without the right to record one. */
const noticeIfAllowed = `select case when has_function_privilege('onceward.record_incarnation(text)', 'execute')
  then onceward.record_incarnation('detected by an operator') end`

export async function checkServer(
  pool: SqlPool,
): Promise<{ readonly inRecovery: boolean; readonly isNew: boolean }> {
  const { rows } = await pool.query(
    'select in_recovery as "inRecovery", open is null and known = false as "isNew" from onceward.server_check()',
  )
  return rows[0]
}

export async function recordIfAllowed(pool: SqlPool): Promise<void> {
  await pool.query(noticeIfAllowed)
}

/** Newest first. */
export async function readIncarnations(pool: SqlPool): Promise<readonly RecordedIncarnation[]> {
  const { rows } = await pool.query(
    `select ${columns} from onceward.server_incarnation order by id desc limit 50`,
  )
  return rows as RecordedIncarnation[]
}

export async function readExposures(pool: SqlPool): Promise<readonly Exposure[]> {
  const { rows } = await pool.query(`
    select r.consumer_name as consumer, r.kind, r.source as place, r.consumer_group as reader, r.position_kept_by as keeper,
      coalesce((select jsonb_agg(jsonb_build_object('partition', c.partition, 'next', c.next) order by c.partition)
        from onceward.checkpoint c join onceward.consumer k on k.id = c.consumer_id
        where k.name = r.consumer_name and c.next is not null and r.position_kept_by <> 'queue'), '[]') as partitions,
      coalesce((select jsonb_agg(t.target order by t.target)
        from (select distinct l.target from onceward.ledger l where l.consumer_name = r.consumer_name) t), '[]') as targets
    from onceward.reader r order by 1, 2, 3, 4`)
  return rows as Exposure[]
}
