import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { findFinishedByLive } from '../../drivers/postgres/rebuild/finished-by-live.ts'
import { createAnsweredReader } from '../../message/read-message.ts'
import type { LogRange } from '../../ports/range-reader.ts'
import { type Campaign, rangesOf, readCampaign, refused } from '../campaign/campaign.ts'
import type { TakesRecords } from '../campaign/campaign-reader.ts'
import { type LivePositions, livePositions } from '../campaign/live-positions.ts'
import { edgesOf } from '../campaign/preview-campaign.ts'
import { type RunCampaignOptions, runCampaign } from '../campaign/run-campaign.ts'
import { deliveryOf } from '../campaign/select-keys.ts'
import { verifyCampaign } from '../campaign/steer-campaign.ts'

/**
 * Brings the rebuilt tables from the end of the plan to the position of the live consumer. It skips messages
 * that the live consumer has not finished. The live consumer applies those to the new tables after the swap
 * and requests their effects. So the end of the log is not the aim, and unfinished messages in between do no
 * harm. Returns how many messages it applied.
 */
export async function followLive(id: string, options: RunCampaignOptions): Promise<number> {
  const { pool, consumer, openReader } = options
  const campaign = await readCampaign(pool, id)
  const { selection } = campaign
  if (selection.of !== 'log' || selection.end !== 'next') return 0
  const reader = await openReader(selection)
  const { ranges, positions } = await lookAhead().finally(() => reader.close())
  if (ranges.length === 0) return 0
  const follower = new Follower(pool, campaign, consumer, positions)
  await runCampaign(id, { ...options, beyond: { ranges, takes: follower.takes } })
  const { complete, held } = await verifyCampaign(pool, id)
  if (!complete || held > 0)
    throw refused(`The rebuild is not complete: ${held} messages wait for an operator. Nothing was swapped.`)
  return follower.taken

  async function lookAhead() {
    const found = await reader.survey(edgesOf(selection))
    const ranges = behind(found, rangesOf(campaign))
    return { ranges, positions: await livePositions(pool, campaign, consumer, found, reader) }
  }
}

/** Ranges of the log after the plan. Retention of the log may have removed earlier records. */
function behind(found: readonly LogRange[], known: readonly LogRange[]): readonly LogRange[] {
  return found.flatMap(range => {
    const plan = known.find(({ partition }) => partition === range.partition)
    const whole = plan === undefined ? range : { ...range, from: plan.to, incarnation: plan.incarnation }
    return BigInt(whole.from) < BigInt(whole.to) ? [whole] : []
  })
}

class Follower {
  taken = 0
  readonly takes: TakesRecords

  constructor(
    pool: SqlPool,
    { id }: Campaign,
    consumer: Consumer<unknown, SqlTransaction>,
    positions: LivePositions,
  ) {
    const read = createAnsweredReader(consumer)
    this.takes = async (records, range) => {
      const received = await Promise.all(records.map(record => read(deliveryOf(record, range))))
      const known = received.filter(one => one.id !== null)
      const asked = known.map(({ id, delivery, digest }) => ({ id, position: delivery.position, digest }))
      const wanted = await findFinishedByLive(pool, id, positions, asked)
      this.taken += wanted.size
      const ids = new Map(records.map((record, index) => [record, received[index]!.id]))
      return record => wanted.has(ids.get(record) ?? '')
    }
  }
}
