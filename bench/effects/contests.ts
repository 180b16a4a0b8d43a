import type pg from 'pg'
import type { OpenContender } from '../contenders/contender.ts'
import { bodiesOf, type Load, sumOf } from '../workload.ts'
import {
  contributionTables,
  openContributionByHand,
  openContributionEffect,
  resetContributions,
  verifyContributions,
} from './contribution.ts'
import { openDispatcher } from './dispatcher.ts'
import { openIntents } from './intents.ts'
import {
  assertProjected,
  openProjectionByHand,
  openProjectionEffect,
  projectionTables,
  resetProjection,
  versionedBodiesOf,
} from './projection.ts'
import { openStored, openTransactional } from './stored.ts'
import { openPgBoss } from './stored-pg-boss.ts'

export interface EffectContender {
  readonly name: string
  readonly open: OpenContender
}

export interface Aim {
  readonly of: string
  readonly to: string
  readonly atLeast: number
}

/** Contenders that do the same job to the same tables, and what their rates should be to each other. */
export interface Contest {
  readonly broker: 'rabbitmq' | 'postgres'
  readonly tables: string | null
  readonly reset: string
  readonly bodies: (load: Load) => Iterable<Buffer>
  readonly contenders: readonly EffectContender[]
  readonly aims: readonly Aim[]
  /** Throws unless every message took effect once. */
  verify(pool: pg.Pool, who: string, load: Load): Promise<void>
}

const projecting: Contest = {
  broker: 'rabbitmq',
  tables: projectionTables,
  reset: resetProjection,
  bodies: versionedBodiesOf,
  contenders: [
    { name: 'projection by hand', open: openProjectionByHand },
    { name: 'projection', open: openProjectionEffect },
  ],
  aims: [{ of: 'projection', to: 'projection by hand', atLeast: 0.95 }],
  verify: (pool, _who, load) => assertProjected(pool, load),
}

const contributing: Contest = {
  broker: 'rabbitmq',
  tables: contributionTables,
  reset: resetContributions,
  bodies: bodiesOf,
  contenders: [
    { name: 'contribution by hand', open: openContributionByHand },
    { name: 'contribution', open: openContributionEffect },
  ],
  aims: [{ of: 'contribution', to: 'contribution by hand', atLeast: 0.95 }],
  verify: (pool, who, { count }) => verifyContributions(pool, who, count),
}

const working: Contest = {
  broker: 'postgres',
  tables: null,
  reset: 'truncate onceward.held, onceward.ledger',
  bodies: bodiesOf,
  contenders: [
    { name: 'transactional', open: openTransactional },
    { name: 'stored', open: openStored },
    { name: 'pg-boss', open: openPgBoss },
    { name: 'dispatcher', open: openDispatcher },
  ],
  aims: [
    { of: 'stored', to: 'transactional', atLeast: 0.5 },
    { of: 'stored', to: 'pg-boss', atLeast: 1.5 },
    { of: 'dispatcher', to: 'transactional', atLeast: 0.3 },
  ],
  verify: assertCounted,
}

export const contests: readonly Contest[] = [projecting, contributing, working]

export const effectContenders: readonly EffectContender[] = [
  ...contests.flatMap(contest => contest.contenders),
  { name: 'intents', open: openIntents },
]

async function assertCounted(pool: pg.Pool, who: string, { count }: Load): Promise<void> {
  const { rows } = await pool.query('select (select sum(total) from counter)::int as sum')
  if (rows[0].sum !== sumOf(count)) throw new Error(`${who}: the sum is ${rows[0].sum}, not ${sumOf(count)}`)
}
