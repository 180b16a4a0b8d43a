import {
  endCampaignLease,
  extendCampaignLease,
  leaseCampaign,
} from '../../drivers/postgres/campaign/lease-campaign.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Environment } from '../../environment.ts'
import { errorText, OncewardError } from '../../errors.ts'
import { type Campaign, refused } from './campaign.ts'

const leaseS = 15
const beatMs = 1_000

interface Watcher {
  /** An operator asked it to pause or to be cancelled. */
  onWanted(): void
  /** Another process has taken the campaign over. */
  onLost(): void
}

/**
 * The lease on a campaign: one process runs it at a time and extends the lease while it does. Writes are
 * fenced separately, by the epochs of the partitions: a process that slept through its lease commits nothing
 * more.
 */
export class CampaignLease {
  readonly campaignId: string
  readonly #pool: SqlPool
  readonly #env: Environment
  readonly #epoch: number
  #wanted: 'pause' | 'cancel' | null = null
  #lost = false
  #cancel: () => void = () => {}

  private constructor(campaignId: string, epoch: number, pool: SqlPool, env: Environment) {
    this.campaignId = campaignId
    this.#epoch = epoch
    this.#pool = pool
    this.#env = env
  }

  /** The database decides which of two processes gets the lease, and whether the plan is approved. */
  static async take(
    pool: SqlPool,
    { id, state, holder }: Campaign,
    { instance, env }: { readonly instance: string; readonly env: Environment },
  ): Promise<CampaignLease> {
    const epoch = await leaseCampaign(pool, id, instance, leaseS).catch(error => {
      if ((error as { code?: string }).code !== '42501') throw error
      throw new OncewardError('usage', `${errorText(error).replace(/^error: /, '')}. Nothing was started.`, {
        cause: error,
      })
    })
    if (epoch !== null) return new CampaignLease(id, epoch, pool, env)
    const who = state === 'running' ? ` by ${holder}` : ''
    throw refused(`Campaign ${id} cannot be run: it is ${state}${who}, or another process has just taken it.`)
  }

  watch(watcher: Watcher): void {
    this.#beatLater(watcher)
    this.pauseWanted = () => {
      this.#wanted ??= 'pause'
      watcher.onWanted()
    }
  }

  #beatLater(watcher: Watcher): void {
    const beat = async () => {
      await this.#beat(watcher)
      if (!this.#lost) this.#beatLater(watcher)
    }
    this.#cancel = this.#env.timers.after(beatMs, () => void beat())
  }

  pauseWanted: () => void = () => {
    this.#wanted ??= 'pause'
  }

  unwatch(): void {
    this.#cancel()
    this.#lost = true
  }

  /** Records how it ended: at the end of every range, or before. */
  async end(failure: string | null): Promise<void> {
    const wanted = this.#wanted
    await endCampaignLease(this.#pool, this.campaignId, this.#epoch, { failure, wanted })
  }

  async #beat(watcher: Watcher): Promise<void> {
    try {
      const extended = await extendCampaignLease(this.#pool, this.campaignId, this.#epoch, leaseS)
      if (this.#lost) return
      if (extended === null) {
        this.#lost = true
        return watcher.onLost()
      }
      if (extended.wanted === null || this.#wanted !== null) return
      this.#wanted = extended.wanted
      watcher.onWanted()
    } catch (error) {
      this.#env.log.warn('campaign lease not extended yet', { error: errorText(error, 300) })
    }
  }
}
