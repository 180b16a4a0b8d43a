import { assertUsable } from '../../drivers/postgres/migrate.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { OncewardError } from '../../errors.ts'
import { act } from '../parking/act.ts'

/** A life of the database's server. What is not accepted yet stops every consumer. */
export interface Life {
  readonly id: string
  readonly systemIdentifier: string | null
  readonly timeline: number | null
  readonly noticedAt: Date
  readonly why: string
  /** The login that wrote it down; null for lives from before names were kept. */
  readonly noticedBy: string | null
  /** The newest sign of a consumer in this copy: what was committed before it is here. */
  readonly survivedTo: Date | null
  readonly acceptedAt: Date | null
  readonly acceptedBy: string | null
  readonly acceptedBecause: string | null
}

/** What one consumer may have lost, and what brings it back. */
export interface Exposure {
  readonly consumer: string
  readonly kind: string
  readonly place: string
  readonly reader: string
  /** Who keeps the position: a queue forgets what was settled. */
  readonly keeper: 'broker' | 'store' | 'queue'
  /** Where reading begins again, by partition; empty on queues. */
  readonly partitions: readonly { readonly partition: string; readonly next: string }[]
  /** Targets it has called: a call that this copy does not know of may be made again, under its key. */
  readonly targets: readonly string[]
}

export interface RestoreView {
  readonly inRecovery: boolean
  /** The life that waits for a person; null when nothing does. */
  readonly open: Life | null
  readonly lives: readonly Life[]
  readonly exposures: readonly Exposure[]
}

const lifeColumns = `id::text, system_identifier as "systemIdentifier", timeline, detected_at as "noticedAt", reason as why, detected_by as "noticedBy", complete_until as "survivedTo",
  accepted_at as "acceptedAt", accepted_by as "acceptedBy", accepted_reason as "acceptedBecause"`

/** Who only approves does not stop consumers, and still sees what is known. */
const noticeIfAllowed = `select case when has_function_privilege('onceward.record_incarnation(text)', 'execute')
  then onceward.record_incarnation('met by a person first') end`

/**
 * Changes nothing, unless this is a life nobody has met yet: then that is written down, so that it can be
 * accepted.
 */
export async function readRestore(pool: SqlPool): Promise<RestoreView> {
  await assertUsable(pool)
  const { rows: found } = await pool.query(
    'select in_recovery as "inRecovery", open is null and known = false as unmet from onceward.server_check()',
  )
  const { inRecovery, unmet } = found[0] as { inRecovery: boolean; unmet: boolean }
  if (unmet && !inRecovery) await pool.query(noticeIfAllowed)
  const { rows: lives } = await pool.query(
    `select ${lifeColumns} from onceward.server_incarnation order by id desc limit 50`,
  )
  const open = (lives as Life[]).find(life => life.acceptedAt === null) ?? null
  return { inRecovery, open, lives, exposures: await readExposures(pool) }
}

async function readExposures(pool: SqlPool): Promise<readonly Exposure[]> {
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

/**
 * A person lets consumers go on with this copy. Readers of logs whose broker keeps the position are set back
 * to what the copy knows.
 */
export function acceptServer(
  pool: SqlPool,
  id: number,
  because: string,
): Promise<{ readonly partitionsSetBack: number }> {
  return act(pool, 'onceward.accept_incarnation($1, $2)', [id, because], undefined, 'onceward restore')
}

/**
 * A person knows of another life that nothing in the database shows: a disk put back. Every consumer halts
 * until it is accepted.
 */
export async function declareServer(pool: SqlPool, because: string): Promise<RestoreView> {
  await assertUsable(pool)
  if (because.trim() === '')
    throw new OncewardError('usage', 'Say why the server counts as another incarnation. Nothing was changed.')
  await pool.query('select onceward.record_incarnation($1)', [because])
  return readRestore(pool)
}
