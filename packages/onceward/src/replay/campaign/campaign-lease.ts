import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { leaseEnded } from '../../drivers/postgres/sql/clock-ahead.ts'
import type { Environment } from '../../environment.ts'
import { errorText, OncewardError } from '../../errors.ts'
import { type Campaign, refused } from './campaign.ts'

const leaseS = 15
const beatMs = 1_000

interface Watcher {
  /** Somebody wants it to pause or to be cancelled. */
  onWanted(): void
  /** Another process runs it. */
  onLost(): void
}

/**
 * The right to run a campaign: one process at a time, for as long as it says that it lives. What is written
 * is fenced apart from this, by the epochs of the partitions: a process that slept through its lease commits
 * nothing more.
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

  /** The database decides between two that come at once, and whether the plan is approved. */
  static async take(
    pool: SqlPool,
    { id, state, holder }: Campaign,
    { instance, env }: { readonly instance: string; readonly env: Environment },
  ): Promise<CampaignLease> {
    const { rows } = await pool
      .query(
        `update onceward.campaign set state = 'running', holder = $2, lease_until = clock_timestamp() + $3 * interval '1 second',
           epoch = epoch + 1, started_at = coalesce(started_at, clock_timestamp()), ended_at = null, wanted = null, failure = null
         where id = $1 and (state in ('previewed', 'paused', 'failed')
           or (state = 'running' and ${leaseEnded('lease_until', 'clock_timestamp()', String(1_000 * leaseS))})
           or (mode = 'rebuild' and state in ('ran', 'verified'))) returning epoch`,
        [id, instance, leaseS],
      )
      .catch(error => {
        if ((error as { code?: string }).code !== '42501') throw error
        throw new OncewardError(
          'usage',
          `${errorText(error).replace(/^error: /, '')}. Nothing was started.`,
          {
            cause: error,
          },
        )
      })
    if (rows.length > 0) return new CampaignLease(id, rows[0].epoch, pool, env)
    const who = state === 'running' ? ` by ${holder}` : ''
    throw refused(`Campaign ${id} cannot be run: it is ${state}${who}, or was taken by another this moment.`)
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

  /** Says how it ended: at the end of every range, or before. */
  async end(failure: string | null): Promise<void> {
    await this.#pool.query(
      `update onceward.campaign c set holder = null, lease_until = null, ended_at = clock_timestamp(), failure = $3, wanted = null,
         state = case when $4 = 'cancel' then 'cancelled' when $3::text is not null then 'failed' when onceward.campaign_complete(c) then 'ran'
           else 'paused' end
       where id = $1 and epoch = $2 and state = 'running'`,
      [this.campaignId, this.#epoch, failure, this.#wanted],
    )
  }

  async #beat(watcher: Watcher): Promise<void> {
    try {
      const { rows } = await this.#pool.query(
        `update onceward.campaign set lease_until = clock_timestamp() + $3 * interval '1 second'
         where id = $1 and epoch = $2 and state = 'running' returning wanted`,
        [this.campaignId, this.#epoch, leaseS],
      )
      if (this.#lost) return
      if (rows.length === 0) {
        this.#lost = true
        return watcher.onLost()
      }
      if (rows[0].wanted === null || this.#wanted !== null) return
      this.#wanted = rows[0].wanted
      watcher.onWanted()
    } catch (error) {
      this.#env.log.warn('campaign could not be extended yet', { error: errorText(error, 300) })
    }
  }
}
