import { OncewardError } from '../errors.ts'
import type { SqlClient } from '../stores/postgres/pool.ts'
import type { Campaign, Plan } from './campaign.ts'

/**
 * Where retention has removed markers, nothing tells an applied message from a new one. A campaign that would apply history from before that
 * is refused; one that starts from nothing (rebuild) or leaves nothing (forensic) is not in danger.
 */
export async function assertInsideHorizon(
  client: SqlClient,
  { consumer, generation, mode }: Pick<Campaign, 'consumer' | 'generation' | 'mode'>,
  { oldestMs, ranges }: Pick<Plan, 'oldestMs' | 'ranges'>,
): Promise<void> {
  if (mode === 'rebuild' || mode === 'forensic') return
  const { rows: present } = await client.query(
    `select to_regclass('onceward.horizon') is not null as present`,
  )
  if (!present[0].present) return
  const { rows } = await client.query(
    `select h.purged_before as "purgedBefore", h.purged_count::text as count from onceward.horizon h
     join onceward.consumer c on c.id = h.consumer_id
     where c.name = $1 and c.generation = $2 and h.purged_before is not null`,
    [consumer, generation],
  )
  const [horizon] = rows as { purgedBefore: Date; count: string }[]
  if (horizon === undefined) return
  const { purgedBefore, count } = horizon
  if (oldestMs !== null && oldestMs >= purgedBefore.getTime()) return
  const behindMs = oldestMs === null ? null : purgedBefore.getTime() - oldestMs
  const reaches =
    behindMs === null ? 'whose time nobody knows' : `up to ${Math.ceil(behindMs / 3_600_000)} hours older`
  const where = ranges.map(({ partition, from, to }) => `${partition} ${from} to ${to}`).join(', ')
  throw new OncewardError(
    'usage',
    `The campaign reaches behind the horizon of ${consumer} (generation ${generation}): its markers from before ${purgedBefore.toISOString()} are gone (${count} of them), and it covers records ${reaches}: ${where}. What was applied then would be applied again. Nothing was started. Begin at or after that time, or rebuild.`,
    { details: { consumer, generation, purgedBefore: purgedBefore.toISOString(), oldestMs, ranges } },
  )
}
