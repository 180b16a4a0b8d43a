import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { type Horizon, readHorizon } from '../../drivers/postgres/retention/read-horizon.ts'
import { OncewardError } from '../../errors.ts'

/** The range that a replay is about to read. */
export interface HorizonReach {
  readonly consumerIds: readonly number[]
  /** Time of the oldest message; null for the beginning. */
  readonly from: Date | null
  /** Keys or log ranges, named in the refusal. */
  readonly covered: readonly string[]
}

const coveredShown = 20

/**
 * Throws `behind_horizon` when retention has removed markers of the range, naming consumers, times and the
 * unprotected range. Call it in the transaction that starts or continues the work: retention runs
 * concurrently.
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
      `${consumer} (generation ${generation}) is protected only from ${purgedBefore.toISOString()} on, ${purgedCount} markers were removed`,
  )
  const { covered } = reach
  const named = covered.slice(0, coveredShown).join(', ')
  const more = covered.length > coveredShown ? ` and ${covered.length - coveredShown} more` : ''
  throw new OncewardError(
    'behind_horizon',
    `Reading from ${from} includes messages whose markers were removed: ${who.join('; ')}. Messages before that would be applied a second time (of ${named}${more}). Nothing was started. Start later, read without effects (forensic), or rebuild under a new generation.`,
    { details: { consumers: passed.map(one => one.consumer), from: reach.from, covered } },
  )
}
