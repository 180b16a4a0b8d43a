import type { Consumer } from '../contract/define-consumer.ts'
import { readGauges, type StoreReading } from '../drivers/postgres/gauges/read-gauges.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import type { Environment } from '../environment.ts'
import { errorText } from '../errors.ts'
import { type AttentionReason, attentionReason, attentionReasons } from './attention-reason.ts'
import { partitionsMax } from './catalogue.ts'
import type { GaugeKey, See } from './metrics.ts'

/** The highest age of reported values, unless the process sets another. */
export const gaugesMaxAgeMs = 15_000
/** Lower limit of that age: more frequent reads would cost the database more than they are worth. */
const ageLeastMs = 3_000
/** After this long without a collection, reading stops until the next one. */
const abandonedMs = 600_000

const gauges: readonly GaugeKey[] = [
  'held',
  'heldOldest',
  'heldStuck',
  'attention',
  'attentionOldest',
  'gaugesAge',
  'parkingUsed',
  'checkpointAge',
  'ledger',
  'ledgerOldest',
  'horizonAge',
  'keep',
  'removed',
  'overdue',
  'campaigns',
  'campaignDone',
]

const openStates = ['pending', 'in flight', 'retryable', 'unknown', 'reconciling', 'failed'] as const
const states = ['stored', 'waiting', 'parked', 'dead', 'quarantined'] as const

/** Reads the progress of a campaign. The runtime passes it in: campaigns are a room above. */
export type ReadProgress = (
  pool: SqlPool,
  id: string,
) => Promise<{ readonly campaign: { readonly mode: string }; readonly done: number; readonly extent: number }>

interface Reading extends StoreReading {
  readonly progress: readonly { readonly mode: string; readonly share: number }[]
}

export interface StoreGaugesOptions {
  readonly pool: SqlPool
  readonly consumer: Pick<Consumer, 'name' | 'generation' | 'failure'>
  readonly env: Environment
  readonly readProgress: ReadProgress
  /** Values older than this are not reported. Default 15 s. */
  readonly gaugesMaxAgeMs?: number | undefined
}

/**
 * The gauges of a consumer that only the database knows. A collection reports the last reading and never
 * waits for the database. After the first collection the process reads again before a reading is too old, so
 * that a scrape every minute also shows values of the last seconds. A process without collections reads
 * nothing.
 */
export class StoreGauges {
  readonly #options: StoreGaugesOptions
  readonly #stop: () => void
  readonly #maxAgeMs: number
  readonly #bornMs: number
  #seen: { readonly reading: Reading; readonly atMs: number } | null = null
  #askedMs = Number.NEGATIVE_INFINITY
  #collectedMs = Number.NEGATIVE_INFINITY
  #cancelNext: (() => void) | null = null
  #looking: Promise<void> | null = null
  readonly #targets = new Set<string>()
  readonly #attention = new Map<string, { readonly reason: AttentionReason; readonly class: string }>()
  readonly #campaigns = new Map<string, { readonly mode: string; readonly state: string }>()
  #closed = false
  #failed = false

  constructor(options: StoreGaugesOptions) {
    this.#options = options
    this.#maxAgeMs = Math.max(ageLeastMs, options.gaugesMaxAgeMs ?? gaugesMaxAgeMs)
    this.#bornMs = options.env.clock.nowMs()
    this.#stop = options.env.metrics.watch(gauges, see => {
      this.#collectedMs = options.env.clock.nowMs()
      this.#lookIfDue()
      this.#show(see)
    })
  }

  /**
   * Age of the oldest held work of this generation that waits for no person; 0 if there is none or it is
   * unknown.
   */
  get heldOldestMs(): number {
    this.#collectedMs = this.#options.env.clock.nowMs()
    this.#lookIfDue()
    const grown = this.#grown()
    return grown === null ? 0 : olderBy(grown.since, grown.reading.ownOldest) * 1_000
  }

  /** Stops reading; resolves when the current read has ended. */
  async close(): Promise<void> {
    this.#closed = true
    this.#cancelNext?.()
    this.#stop()
    await this.#looking
  }

  #lookIfDue(): void {
    const { clock } = this.#options.env
    if (this.#closed || this.#looking !== null || clock.nowMs() - this.#askedMs < this.#maxAgeMs / 3) return
    this.#askedMs = clock.nowMs()
    this.#looking = this.#look().finally(() => {
      this.#looking = null
      this.#lookAgainLater()
    })
  }

  #lookAgainLater(): void {
    const { clock, timers } = this.#options.env
    this.#cancelNext?.()
    if (this.#closed || clock.nowMs() - this.#collectedMs > abandonedMs) return
    this.#cancelNext = timers.after(this.#maxAgeMs / 2, () => this.#lookIfDue())
  }

  /** After a failed read the last values stay, and one warning is logged. */
  async #look(): Promise<void> {
    const { pool, consumer, readProgress, env } = this.#options
    try {
      const reading = await readGauges(pool, consumer, partitionsMax)
      const progress = await progressOf(pool, reading.running, readProgress)
      this.#seen = { reading: { ...reading, progress }, atMs: env.clock.nowMs() }
      this.#failed = false
    } catch (error) {
      if (!this.#failed && !this.#closed)
        env.log.warn('database metrics could not be read', {
          consumer: consumer.name,
          error: errorText(error),
        })
      this.#failed = true
    }
  }

  #grown(): { readonly since: number; readonly reading: Reading } | null {
    const seen = this.#seen
    if (seen === null) return null
    const sinceMs = this.#options.env.clock.nowMs() - seen.atMs
    if (sinceMs > this.#maxAgeMs) return null
    return { reading: seen.reading, since: sinceMs / 1_000 }
  }

  #show(see: See): void {
    const { name: consumer, failure } = this.#options.consumer
    const ageMs = this.#options.env.clock.nowMs() - (this.#seen?.atMs ?? this.#bornMs)
    see('gaugesAge', ageMs / 1_000, { consumer })
    const grown = this.#grown()
    if (grown === null) return
    const { reading, since } = grown
    for (const state of states) see('held', reading.held[state] ?? 0, { consumer, state })
    see('heldOldest', olderBy(since, reading.heldOldest), { consumer })
    see('heldStuck', reading.stuck, { consumer })
    this.#showAttention(see, reading, since)
    see('parkingUsed', reading.ownParked / failure.parking.totalMax, { consumer, cap: 'total' })
    see('parkingUsed', reading.fullestKey / failure.parking.perKeyMax, { consumer, cap: 'key' })
    for (const { partition, age } of reading.checkpoints)
      see('checkpointAge', age + since, { consumer, partition })
    this.#showEffects(see, reading, since)
    this.#showMemory(see, reading, since)
  }

  /**
   * A reason and class that occurred once is reported as 0 when nothing waits any more, so that its alert
   * ends at once.
   */
  #showAttention(see: See, { setAside }: Reading, since: number): void {
    const { name: consumer, failure } = this.#options.consumer
    const waiting = setAside.flatMap(row => {
      const reason = attentionReason(row, failure)
      return reason === null ? [] : [{ ...row, reason }]
    })
    for (const row of waiting) this.#attention.set(`${row.reason} ${row.class}`, row)
    for (const { reason, class: failureClass } of this.#attention.values()) {
      const rows = waiting.filter(row => row.reason === reason && row.class === failureClass)
      const count = rows.reduce((sum, row) => sum + row.count, 0)
      see('attention', count, { consumer, reason, class: failureClass })
    }
    for (const reason of attentionReasons) {
      const oldest = Math.max(0, ...waiting.filter(row => row.reason === reason).map(row => row.oldest))
      see('attentionOldest', olderBy(since, oldest), { consumer, reason })
    }
  }

  /** A target that had open effects once is reported as 0 when it has none. */
  #showEffects(see: See, { ledger }: Reading, since: number): void {
    const { name: consumer } = this.#options.consumer
    for (const { target } of ledger) this.#targets.add(target)
    for (const target of this.#targets) {
      const open = ledger.filter(row => row.target === target)
      for (const state of openStates)
        see('ledger', open.find(row => row.state === state)?.count ?? 0, { consumer, target, state })
      const oldest = Math.max(0, ...open.map(row => row.oldest))
      see('ledgerOldest', olderBy(since, oldest), { consumer, target })
    }
  }

  #showMemory(see: See, reading: Reading, since: number): void {
    const { name: consumer } = this.#options.consumer
    if (reading.horizonAge !== null) see('horizonAge', reading.horizonAge + since, { consumer })
    for (const { kind, keep, removed } of reading.retention) {
      see('keep', keep, { consumer, kind })
      see('removed', removed, { consumer, kind })
    }
    see('overdue', reading.overdue, { consumer })
    for (const { mode, state } of reading.campaigns) this.#campaigns.set(`${mode} ${state}`, { mode, state })
    for (const { mode, state } of this.#campaigns.values()) {
      const found = reading.campaigns.find(one => one.mode === mode && one.state === state)
      see('campaigns', found?.count ?? 0, { consumer, mode, state })
    }
    const least = new Map<string, number>()
    for (const { mode, share } of reading.progress) least.set(mode, Math.min(least.get(mode) ?? 1, share))
    for (const [mode, share] of least) see('campaignDone', share, { consumer, mode })
  }
}

/** 0 means that nothing waits, so it does not grow. */
function olderBy(since: number, age: number): number {
  return age === 0 ? 0 : age + since
}

/** One statement for each of a few running campaigns. */
async function progressOf(
  pool: SqlPool,
  running: readonly string[],
  readProgress: ReadProgress,
): Promise<Reading['progress']> {
  const progress: { mode: string; share: number }[] = []
  for (const id of running) {
    const { campaign, done, extent } = await readProgress(pool, id)
    progress.push({ mode: campaign.mode, share: extent === 0 ? 1 : done / extent })
  }
  return progress
}
