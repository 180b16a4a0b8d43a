import { acts } from '../drivers/postgres/acts.ts'
import { assertUsable } from '../drivers/postgres/assert-usable.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { type BrakeRow, listBrakes } from '../drivers/postgres/run/brakes.ts'
import { act } from './act.ts'

/** Open and recent pauses of event types. */
export async function readBrakes(pool: SqlPool): Promise<readonly BrakeRow[]> {
  await assertUsable(pool)
  return listBrakes(pool)
}

export interface BrakeRelease {
  readonly consumer: string
  /** '' for messages without a type. */
  readonly type: string
  readonly because: string
}

/** Ends the pause of an event type. For an hour its cause pauses the type no more. */
export async function releaseBrake(pool: SqlPool, { consumer, type, because }: BrakeRelease): Promise<void> {
  await act(pool, acts.releaseBrake, [consumer, type, because], undefined, 'onceward brakes')
}
