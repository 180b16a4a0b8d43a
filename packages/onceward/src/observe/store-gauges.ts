import type { Consumer } from '../contract/define-consumer.ts'
import { errorText } from '../errors.ts'
import type { SqlPool } from '../stores/postgres/pool.ts'
import type { Surroundings } from '../surroundings.ts'
import type { GaugeKey, See } from './metrics.ts'
import { readGauges, type StoreReading } from './read-gauges.ts'

/** Time between two looks at least, however often somebody collects. */
const everyMs = 5_000
/** A store that has said nothing for this long is not spoken for any more. */
const staleMs = 300_000

const gauges: readonly GaugeKey[] = [
  'held',
  'heldOldest',
  'heldStuck',
  'parkedOldest',
  'parkingUsed',
  'checkpointAge',
  'losses',
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

export interface StoreGaugesOptions {
  readonly pool: SqlPool
  readonly consumer: Pick<Consumer, 'name' | 'generation' | 'failure'>
  readonly world: Surroundings
}

/**
 * What only the database knows of a consumer. Whoever collects is shown the last look, and a look older than five seconds is repeated behind
 * their back: nobody waits for the database, ten scrapers cost what one does, and a process nobody collects from asks nothing.
 */
export class StoreGauges {
  readonly #options: StoreGaugesOptions
  readonly #stop: () => void
  #seen: { readonly reading: StoreReading; readonly atMs: number } | null = null
  #askedMs = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | null = null
  readonly #targets = new Set<string>()
  readonly #campaigns = new Map<string, { readonly mode: string; readonly state: string }>()
  #closed = false
  #failed = false

  constructor(options: StoreGaugesOptions) {
    this.#options = options
    this.#stop = options.world.metrics.watch(gauges, see => {
      this.#lookIfDue()
      this.#show(see)
    })
  }

  /** Age of the oldest held work that waits for no person; 0 where there is none, or nothing is known. */
  get heldOldestMs(): number {
    this.#lookIfDue()
    const { oldest } = this.#grown() ?? { oldest: 0 }
    return oldest * 1_000
  }

  /** Resolves when no look is under way; nothing is asked any more. */
  async close(): Promise<void> {
    this.#closed = true
    this.#stop()
    await this.#looking
  }

  #lookIfDue(): void {
    const { clock } = this.#options.world
    if (this.#closed || this.#looking !== null || clock.nowMs() - this.#askedMs < everyMs) return
    this.#askedMs = clock.nowMs()
    this.#looking = this.#look().finally(() => {
      this.#looking = null
    })
  }

  /** One that fails shows what was known, and is said once. */
  async #look(): Promise<void> {
    const { pool, consumer, world } = this.#options
    try {
      this.#seen = { reading: await readGauges(pool, consumer), atMs: world.clock.nowMs() }
      this.#failed = false
    } catch (error) {
      if (!this.#failed && !this.#closed)
        world.log.warn('metrics of the database are not read', {
          consumer: consumer.name,
          error: errorText(error),
        })
      this.#failed = true
    }
  }

  #grown(): { readonly oldest: number; readonly since: number; readonly reading: StoreReading } | null {
    const seen = this.#seen
    if (seen === null) return null
    const sinceMs = this.#options.world.clock.nowMs() - seen.atMs
    if (sinceMs > staleMs) return null
    const since = sinceMs / 1_000
    const { heldOldest } = seen.reading
    return { reading: seen.reading, since, oldest: heldOldest === 0 ? 0 : heldOldest + since }
  }

  #show(see: See): void {
    const grown = this.#grown()
    if (grown === null) return
    const { reading, since, oldest } = grown
    const { name: consumer, failure } = this.#options.consumer
    for (const state of states) see('held', reading.held[state] ?? 0, { consumer, state })
    see('heldOldest', oldest, { consumer })
    see('heldStuck', reading.stuck, { consumer })
    see('parkedOldest', reading.parkedOldest === 0 ? 0 : reading.parkedOldest + since, { consumer })
    const parked = (reading.held.parked ?? 0) / failure.parking.totalMax
    see('parkingUsed', parked, { consumer, cap: 'total' })
    see('parkingUsed', reading.fullestKey / failure.parking.perKeyMax, { consumer, cap: 'key' })
    for (const { partition, age } of reading.checkpoints)
      see('checkpointAge', age + since, { consumer, partition })
    see('losses', reading.losses, { consumer })
    this.#showEffects(see, reading, since)
    this.#showMemory(see, reading, since)
  }

  /** What was open once and is not any more is none, and said to be. */
  #showEffects(see: See, { ledger }: StoreReading, since: number): void {
    const { name: consumer } = this.#options.consumer
    for (const { target } of ledger) this.#targets.add(target)
    for (const target of this.#targets) {
      const open = ledger.filter(row => row.target === target)
      for (const state of openStates)
        see('ledger', open.find(row => row.state === state)?.count ?? 0, { consumer, target, state })
      const oldest = Math.max(0, ...open.map(row => row.oldest))
      see('ledgerOldest', oldest === 0 ? 0 : oldest + since, { consumer, target })
    }
  }

  #showMemory(see: See, reading: StoreReading, since: number): void {
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
