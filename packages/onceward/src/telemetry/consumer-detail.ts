import { assertUsable } from '../drivers/postgres/assert-usable.ts'
import { readWaitingRequests, type WaitingRequests } from '../drivers/postgres/parking/read-approvals.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { type FlowHour, readFlow, readLag, type SourceLag } from '../drivers/postgres/run/read-flow.ts'
import { type RecordedIncarnation, readIncarnations } from '../drivers/postgres/server/read-incarnations.ts'
import {
  type BlockedKeyRow,
  type Halt,
  type RunRow,
  readBlockedKeys,
  readHalts,
  readOldestSetAside,
  readRuns,
} from '../drivers/postgres/status/read-consumer-detail.ts'

export type { WaitingRequests } from '../drivers/postgres/parking/read-approvals.ts'
export type { FlowHour, FlowSeries, SourceLag } from '../drivers/postgres/run/read-flow.ts'
export type { BlockedKeyRow, Halt, RunRow } from '../drivers/postgres/status/read-consumer-detail.ts'

/** Rates of the last hour, and what waits at the sources, from what the processes wrote. */
export async function readRates(pool: SqlPool): Promise<FlowHour & { readonly lag: readonly SourceLag[] }> {
  await assertUsable(pool)
  return { ...(await readFlow(pool)), lag: await readLag(pool) }
}

/** What stops consumers, what waits for a second person, and how long people have let messages wait. */
export interface ConsumerTrouble {
  readonly halts: readonly Halt[]
  readonly oldestSetAside: readonly { readonly consumer: string; readonly seconds: number }[]
  readonly requests: readonly WaitingRequests[]
  /** The copy of the database that a person must accept; every consumer halts until then. */
  readonly openIncarnation: RecordedIncarnation | null
}

/** What needs a person, over all consumers. */
export async function readTrouble(pool: SqlPool): Promise<ConsumerTrouble> {
  await assertUsable(pool)
  const incarnations = await readIncarnations(pool)
  return {
    halts: await readHalts(pool),
    oldestSetAside: await readOldestSetAside(pool),
    requests: await readWaitingRequests(pool),
    openIncarnation: incarnations.find(({ acceptedAt }) => acceptedAt === null) ?? null,
  }
}

/** The newest runs of a consumer, and its blocked keys. */
export interface ConsumerDetail {
  readonly runs: readonly RunRow[]
  readonly blockedKeys: readonly BlockedKeyRow[]
}

/** The newest runs, and the keys that are blocked longest. */
export async function readConsumerDetail(
  pool: SqlPool,
  consumer: string,
  countMax: { readonly runs: number; readonly blockedKeys: number },
): Promise<ConsumerDetail> {
  await assertUsable(pool)
  return {
    runs: await readRuns(pool, consumer, countMax.runs),
    blockedKeys: await readBlockedKeys(pool, consumer, countMax.blockedKeys),
  }
}
