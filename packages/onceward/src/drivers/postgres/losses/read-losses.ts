import type { SqlPool } from '../pool.ts'

/** Records that a log no longer had when a consumer read it. */
export interface DeclaredLoss {
  readonly id: number
  readonly consumer: string
  readonly generation: number
  readonly partition: string
  readonly from: string
  /** Where reading would continue; null when the log has no later record. */
  readonly to: string | null
  /** Maximum number of lost records; null when unknown. */
  readonly records: number | null
  readonly reason: string
  readonly declaredAt: Date
  readonly acceptedBy: string | null
  readonly acceptedBecause: string | null
  /** Why the loss was withdrawn; null otherwise. */
  readonly withdrawnBecause: string | null
  /** Changes with the range and the count of the loss. */
  readonly digest: string
  readonly state: 'open' | 'accepted' | 'resumed' | 'withdrawn'
}

export async function readDeclaredLosses(pool: SqlPool): Promise<readonly DeclaredLoss[]> {
  const { rows } = await pool.query(`
    select loss.id::int, name as consumer, generation, partition, from_position as "from", to_position as "to",
      records::float8, reason, declared_at as "declaredAt", accepted_by as "acceptedBy",
      accepted_reason as "acceptedBecause", withdrawn_reason as "withdrawnBecause",
      onceward.loss_digest(loss) as digest,
      case when withdrawn_reason is not null then 'withdrawn' when resumed_at is not null then 'resumed'
        when accepted_at is not null then 'accepted' else 'open' end as state
    from onceward.loss join onceward.consumer on consumer.id = loss.consumer_id order by loss.id`)
  return rows
}
