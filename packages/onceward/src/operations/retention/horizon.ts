import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { type Horizon, readHorizon } from '../../drivers/postgres/retention/read-horizon.ts'
import { OncewardError } from '../../errors.ts'

/** What a replay is about to read again. */
export interface HorizonReach {
  readonly consumerIds: readonly number[]
  /** The oldest message it reads; null when it begins with the first there is. */
  readonly from: Date | null
  /** What is read: keys, or ranges of a log. Named in the refusal. */
  readonly covered: readonly string[]
}

const coveredShown = 20

/**
 * Throws `behind_horizon` when any of the consumers has forgotten a part of what is to be read again, naming
 * consumers, times and what is not protected. Ask in the transaction that begins or goes on with the work:
 * removing goes on meanwhile.
 */
export async function assertInsideHorizon(client: SqlClient, reach: HorizonReach): Promise<void> {
  const passed: Horizon[] = []
  for (const id of reach.consumerIds) {
    const horizon = await readHorizon(client, id)
    if (horizon !== null && (reach.from === null || reach.from < horizon.purgedBefore)) passed.push(horizon)
  }
  if (passed.length === 0) return
  const from = reach.from === null ? 'the beginning' : reach.from.toISOString()
  const who = passed.map(
    ({ consumer, generation, purgedBefore, purgedCount }) =>
      `${consumer} (generation ${generation}) is protected only from ${purgedBefore.toISOString()} on, ${purgedCount} markers are gone`,
  )
  const { covered } = reach
  const named = covered.slice(0, coveredShown).join(', ')
  const more = covered.length > coveredShown ? ` and ${covered.length - coveredShown} more` : ''
  throw new OncewardError(
    'behind_horizon',
    `Reading again from ${from} reaches behind what is remembered: ${who.join('; ')}. Messages before that would be applied a second time (of ${named}${more}). Nothing was started. Begin later, read without effects (forensic), or rebuild under a new generation.`,
    { details: { consumers: passed.map(one => one.consumer), from: reach.from, covered } },
  )
}
