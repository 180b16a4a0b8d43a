import type { SqlPool } from '../pool.ts'
import type { RedriveReport } from './read-redrive.ts'

/** One redrive without its rows. */
export interface RedriveSummary extends Omit<RedriveReport, 'rows' | 'outcomes' | 'stoppedBecause'> {
  readonly selected: number
  readonly moved: number
  readonly left: number
  /** Released because the message they waited behind was moved. */
  readonly behind: number
}

/** Which redrives to list. */
export interface RedriveFilter {
  /** Only of these consumers. */
  readonly consumers?: readonly string[] | undefined
  readonly state?: RedriveReport['state'] | undefined
  readonly countMax: number
}

/** Newest first. */
export async function readRedrives(
  pool: SqlPool,
  { consumers, state, countMax }: RedriveFilter,
): Promise<readonly RedriveSummary[]> {
  const { rows } = await pool.query(
    `select r.request_id as "requestId", c.name as consumer, r.state, r.actor as by, r.at, r.reason as because,
       r.rate_max as "perSecond", encode(r.digest, 'hex') as digest, n.*
     from (select d.* from onceward.redrive d join onceward.consumer k on k.id = d.consumer_id
       where ($1::text[] is null or k.name = any ($1)) and ($3::text is null or d.state = $3) order by d.id desc limit $2) r
     join onceward.consumer c on c.id = r.consumer_id
     cross join lateral (
       select count(*) filter (where not w.behind)::integer as selected,
         count(*) filter (where w.state = 'moved' and not w.behind)::integer as moved,
         count(*) filter (where w.state = 'left')::integer as "left",
         count(*) filter (where w.behind)::integer as behind
       from onceward.redrive_row w where w.redrive_id = r.id) n
     order by r.id desc`,
    [consumers ?? null, countMax, state ?? null],
  )
  return rows
}
