import { OncewardError } from '../errors.ts'
import { assertUsable } from '../stores/postgres/migrate.ts'
import type { SqlPool } from '../stores/postgres/pool.ts'

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
  readonly state: 'open' | 'accepted' | 'resumed' | 'withdrawn'
}

export async function readLosses(pool: SqlPool): Promise<readonly DeclaredLoss[]> {
  await assertUsable(pool)
  const { rows } = await pool.query(`
    select gap.id::int, name as consumer, generation, partition, from_next as "from", to_next as "to",
      records::float8, reason, declared_at as "declaredAt", accepted_by as "acceptedBy",
      accepted_because as "acceptedBecause", withdrawn_because as "withdrawnBecause",
      case when withdrawn_because is not null then 'withdrawn' when resumed_at is not null then 'resumed' when accepted_at is not null then 'accepted' else 'open' end as state
    from onceward.gap join onceward.consumer on consumer.id = gap.consumer_id order by gap.id`)
  return rows
}

export interface Acceptance {
  readonly id: number
  /** Typed again by the person, so that no slip accepts another consumer's loss. */
  readonly consumer: string
  readonly because: string
}

/** Accepted all the same, a loss would set the consumer back to where it once began. */
const readOn = `exists (select from onceward.checkpoint c
  where c.consumer_id = gap.consumer_id and c.partition = gap.partition and c.at > gap.declared_at)`

/** A person takes the loss upon them, under the login of the database session: at its next start the consumer goes on behind the gap. Changes one open loss or nothing. */
export async function acceptLoss(
  pool: SqlPool,
  { id, consumer, because }: Acceptance,
): Promise<DeclaredLoss> {
  const loss = (await readLosses(pool)).find(one => one.id === id)
  const refuse = (why: string): never => {
    throw new OncewardError('usage', `${why} Nothing was changed; see "onceward losses".`)
  }
  if (loss === undefined) return refuse(`There is no declared loss ${id}.`)
  if (loss.consumer !== consumer) return refuse(`Loss ${id} is not of consumer "${consumer}".`)
  if (because.trim() === '') return refuse('Say why the loss is acceptable.')
  if (loss.to === null)
    return refuse(
      `Loss ${id} has nothing to go on from: bring the log back first, the next start declares it anew.`,
    )
  const { rowCount, rows } = await pool.query(
    `update onceward.gap set accepted_at = clock_timestamp(), accepted_because = $2
     where id = $1 and accepted_at is null and resumed_at is null and not ${readOn} returning accepted_by as "acceptedBy"`,
    [id, because],
  )
  if (rowCount === 0 && loss.state === 'open')
    return refuse(
      `Loss ${id} is not where the consumer stands any more: since it was declared somebody took the partition. If it halts there again, it declares the loss anew.`,
    )
  if (loss.state === 'withdrawn')
    return refuse(`Loss ${id} was withdrawn: ${loss.withdrawnBecause}. There is nothing to accept.`)
  if (rowCount === 0) return refuse(`Loss ${id} is already ${loss.state}, by ${loss.acceptedBy}.`)
  return { ...loss, ...rows[0], acceptedBecause: because, state: 'accepted' }
}
