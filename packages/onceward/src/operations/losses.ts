import { assertUsable } from '../drivers/postgres/migrate.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { act } from './parking/act.ts'

/** Records a log no longer had when a consumer came for them. */
export interface DeclaredLoss {
  readonly id: number
  readonly consumer: string
  readonly generation: number
  readonly partition: string
  readonly from: string
  /** Where reading would go on; null when nothing is left to go on from. */
  readonly to: string | null
  /** At most so many; null when it cannot be known. */
  readonly records: number | null
  readonly reason: string
  readonly declaredAt: Date
  readonly acceptedBy: string | null
  readonly acceptedBecause: string | null
  /** Why the loss turned out to be none; null while it counts. */
  readonly withdrawnBecause: string | null
  /** Of what is lost: another end or another count has another digest. */
  readonly digest: string
  readonly state: 'open' | 'accepted' | 'resumed' | 'withdrawn'
}

export async function readLosses(pool: SqlPool): Promise<readonly DeclaredLoss[]> {
  await assertUsable(pool)
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

export interface Acceptance {
  readonly id: number
  /** Typed again by the person, so that no slip accepts another consumer's loss. */
  readonly consumer: string
  readonly because: string
  /** The digest of the loss as the person saw it. Default: as it is when this is called. */
  readonly seen?: string | undefined
}

/**
 * A person takes the loss upon them, under the login of the database session: at its next start the consumer
 * goes on behind the gap. Changes one open loss, as it was shown, or nothing.
 */
export async function acceptLoss(
  pool: SqlPool,
  { id, consumer, because, seen }: Acceptance,
): Promise<DeclaredLoss> {
  const find = async () => (await readLosses(pool)).find(loss => loss.id === id)
  const values = [id, consumer, seen ?? (await find())?.digest ?? '', because]
  await act(pool, 'onceward.accept_loss($1, $2, $3, $4)', values, undefined, 'onceward losses')
  return (await find())!
}
