import type { Reach } from '../../crash-points.ts'
import { leaseLost } from '../../drivers/postgres/sql/lease-lost.ts'
import { OncewardError } from '../../errors.ts'
import type { DoneWork, HeldSession, PutOffWork, TakenWork, WorkLease } from '../../ports/held-work.ts'
import type { Enrolment, StoreSession } from '../../ports/store.ts'
import type { CampaignJournal } from '../campaign/campaign-journal.ts'
import { sqlOf } from '../campaign/campaign-session.ts'
import { overrideSession } from '../campaign/override-session.ts'

const takeUp = 'select onceward.begin_parked($1, $2, $3::bigint[], $4::integer[])::text[] as lost'

/** What is tried again stays parked and stays the campaign's. */
const putOff = `
  update onceward.held h set lease_until = clock_timestamp() + mine.delay_ms * interval '1 millisecond', last_at = clock_timestamp()
  from unnest($1::bigint[], $2::integer[], $3::float8[]) as mine (id, epoch, delay_ms)
  where h.id = mine.id and h.epoch = mine.epoch`

const done = `
  update onceward.campaign_row set state = 'done' where campaign_id = $1 and held_id = any ($2::bigint[]) and state = 'open'`

const moveOn = `
  update onceward.campaign_partition set next = (next::bigint + $3)::text, run_id = $4, at = clock_timestamp()
  where campaign_id = $1 and partition = 'parked' and epoch = $2`

const free = 'select onceward.unblock_after_campaign($1, $2, $3::text[])'

export interface ParkedSessionOptions {
  readonly campaignId: string
  readonly epoch: number
  readonly enrolment: Enrolment
  readonly journal: CampaignJournal
  readonly reach: Reach
  /** Ends the claims of rows that were not to be had now. */
  readonly giveBack: (claims: readonly WorkLease[]) => void
}

/**
 * One batch of a campaign on parked rows: a worker's session, but the rows are parked until the moment they
 * are done.
 */
export class ParkedSession<Tx> {
  readonly session: StoreSession<Tx>
  readonly #inner: StoreSession<Tx>
  readonly #options: ParkedSessionOptions
  #taken: readonly TakenWork[] = []
  #doneCount = 0

  constructor(inner: StoreSession<Tx>, options: ParkedSessionOptions) {
    this.#inner = inner
    this.#options = options
    const held: HeldSession = {
      keep: (messages, holder) => inner.held!.keep(messages, holder),
      keysAtWork: keys => inner.held!.keysAtWork(keys),
      takeUp: work => this.#takeUp(work),
      finish: (finished, again) => this.#finish(finished, again),
      makeLive: ids => inner.held!.makeLive(ids),
      noteSuppressed: (id, effects) => inner.held!.noteSuppressed(id, effects),
    }
    this.session = overrideSession(inner, {
      held,
      journal: options.journal,
      parkedTotal: () => this.#othersParked(),
    })
  }

  /** Called last: counts, the campaign's place, and keys that nothing holds any more. */
  async close(): Promise<void> {
    const { journal, campaignId, epoch, enrolment, reach } = this.#options
    const tx = sqlOf(this.#inner)
    const keys = this.#taken.flatMap(({ headOf }) => headOf ?? [])
    if (keys.length > 0) await tx.query(free, [campaignId, enrolment.consumerId, keys])
    const move = async () => {
      const { rowCount } = await tx.query(moveOn, [campaignId, epoch, this.#doneCount, enrolment.runId])
      if (rowCount === 0)
        throw new OncewardError(
          'ownership_lost',
          `Another process runs campaign ${campaignId} by now. Nothing was committed.`,
          { details: { partitions: ['parked'] } },
        )
      // A row is done once: whoever comes again does not find it open.
      return () => false
    }
    await journal.writeWithEffects(tx, move, reach)
  }

  async #takeUp(work: readonly TakenWork[]): Promise<ReadonlyMap<string, 'stored' | 'parked'>> {
    const { campaignId, enrolment, giveBack } = this.#options
    this.#taken = work
    const { rows } = await sqlOf(this.#inner).query<{ lost: string[] }>(takeUp, [
      campaignId,
      enrolment.consumerId,
      work.map(one => one.row),
      work.map(one => one.epoch),
    ])
    const lost = new Set(rows[0]!.lost)
    if (lost.size === 0) return new Map()
    giveBack(work.filter(({ row }) => lost.has(row)))
    throw leaseLost([...lost])
  }

  async #finish(finished: readonly DoneWork[], again: readonly PutOffWork[]): Promise<void> {
    const tx = sqlOf(this.#inner)
    await this.#inner.held!.finish(finished, [])
    const { rowCount } = await tx.query(done, [this.#options.campaignId, finished.map(one => one.row)])
    this.#doneCount = rowCount
    if (again.length > 0)
      await tx.query(putOff, [
        again.map(one => one.row),
        again.map(one => one.epoch),
        again.map(one => one.delayMs),
      ])
  }

  /**
   * Those of this batch are counted among the parked still, and parked again they are no more than before.
   */
  async #othersParked(): Promise<number> {
    return (await this.#inner.parkedTotal()) - this.#taken.length
  }
}
