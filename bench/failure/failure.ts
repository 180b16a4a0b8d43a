import type pg from 'pg'
import type { Contest } from '../effects/contests.ts'
import { type ContestRates, measureContests } from '../effects/effects.ts'
import type { PreparedPlace } from '../place.ts'
import { bodiesOf, type Load, sumOf } from '../workload.ts'
import { deferAims, deferContenders } from './defer.ts'

const deferring: Contest = {
  broker: 'postgres',
  tables: null,
  reset: 'truncate onceward.held, onceward.attempt',
  bodies: bodiesOf,
  contenders: deferContenders,
  aims: deferAims,
  verify: assertAllApplied,
}

export const failureContenders = [...deferContenders]

export interface FailurePlan {
  readonly rounds: number
  readonly failureCount: number
  readonly roles: readonly string[] | null
  readonly profileFolder: string | null
}

export function measureFailure(
  place: PreparedPlace,
  { failureCount, ...plan }: FailurePlan,
  say: (line: string) => void,
): Promise<ContestRates> {
  return measureContests(place, [deferring], { ...plan, effectCount: failureCount }, say)
}

/** Everything took effect once, and nothing is left to be tried again. */
async function assertAllApplied(pool: pg.Pool, who: string, { count }: Load): Promise<void> {
  const { rows } = await pool.query(
    'select (select sum(total) from counter)::int as sum, (select count(*) from onceward.held)::int as held',
  )
  const { sum, held } = rows[0]
  if (sum !== sumOf(count) || held > 0)
    throw new Error(`${who}: the sum is ${sum}, not ${sumOf(count)}, and ${held} are held`)
}
