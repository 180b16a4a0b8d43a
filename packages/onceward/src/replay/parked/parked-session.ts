import type { Reach } from '../../crash-points.ts'
import {
  beginParkedRows,
  closeCampaignRows,
  moveParkedPlace,
  putOffParkedRows,
  unblockAfterCampaign,
} from '../../drivers/postgres/campaign/parked-rows.ts'
import { leaseLost } from '../../drivers/postgres/sql/lease-lost.ts'
import { OncewardError } from '../../errors.ts'
import type { Enrolment } from '../../ports/enrolment.ts'
import type { DoneWork, HeldSession, PutOffWork, TakenWork, WorkLease } from '../../ports/held-work.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { CampaignJournal } from '../campaign/campaign-journal.ts'
import { overrideSession } from '../campaign/override-session.ts'
import { sqlOf } from '../campaign/sql-of.ts'

export interface ParkedSessionOptions {
  readonly campaignId: string
  readonly epoch: number
  readonly enrolment: Enrolment
  readonly journal: CampaignJournal
  readonly reach: Reach
  /** Ends the leases of rows that could not be taken now. */
  readonly giveBack: (leases: readonly WorkLease[]) => void
}

/**
 * A worker's session for one batch of a campaign on parked rows. The rows stay parked until the transaction
 * that decides them.
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
      confirmLeases: work => this.#confirmLeases(work),
      finish: (finished, again) => this.#finish(finished, again),
      makeLive: ids => inner.held!.makeLive(ids),
      noteSuppressed: (id, effects) => inner.held!.noteSuppressed(id, effects),
    }
    this.session = overrideSession(inner, {
      held,
      campaign: { journal: options.journal },
      parkedTotal: () => this.#othersParked(),
    })
  }

  /**
   * Called last. Writes counts and the campaign's position, and unblocks keys that nothing blocks any more.
   */
  async close(): Promise<void> {
    const { journal, campaignId, epoch, enrolment, reach } = this.#options
    const tx = sqlOf(this.#inner)
    const keys = this.#taken.flatMap(({ headOf }) => headOf ?? [])
    if (keys.length > 0) await unblockAfterCampaign(tx, campaignId, enrolment.consumerId, keys)
    const move = async () => {
      const progress = { epoch, count: this.#doneCount, runId: enrolment.runId }
      if (!(await moveParkedPlace(tx, campaignId, progress)))
        throw new OncewardError(
          'ownership_lost',
          `Another process has taken over campaign ${campaignId}. Nothing was committed.`,
          { details: { partitions: ['parked'] } },
        )
      // A row is closed once: a repeated batch does not find it open.
      return () => false
    }
    await journal.writeWithEffects(tx, move, reach)
  }

  async #confirmLeases(work: readonly TakenWork[]): Promise<ReadonlyMap<string, 'stored' | 'parked'>> {
    const { campaignId, enrolment, giveBack } = this.#options
    this.#taken = work
    const lost = await beginParkedRows(sqlOf(this.#inner), campaignId, enrolment.consumerId, work)
    if (lost.size === 0) return new Map()
    giveBack(work.filter(({ row }) => lost.has(row)))
    throw leaseLost([...lost])
  }

  async #finish(finished: readonly DoneWork[], again: readonly PutOffWork[]): Promise<void> {
    const tx = sqlOf(this.#inner)
    await this.#inner.held!.finish(finished, [])
    this.#doneCount = await closeCampaignRows(tx, this.#options.campaignId, finished)
    if (again.length > 0) await putOffParkedRows(tx, again)
  }

  /** The rows of this batch still count as parked. Parked again, they do not raise the total. */
  async #othersParked(): Promise<number> {
    return (await this.#inner.parkedTotal()) - this.#taken.length
  }
}
