import { errorText } from '../errors.ts'
import type { SqlPool } from '../stores/postgres/pool.ts'
import type { Surroundings } from '../surroundings.ts'

/** Time between two looks at least, however often metrics are collected. */
const everyMs = 5_000
/** More destinations than this are an error elsewhere; labels stay bounded. */
const destinationsMax = 50

/** Destinations that are served or known are shown as 0. */
const read = `
  with unserved as materialized (select destination, waiting from onceward.outbox_unserved)
  select name as destination, split_part(name, ':', 1) as broker, coalesce(waiting, 0) as waiting
  from (select name from onceward.destination union select destination from onceward.relay
    union select destination from unserved) as known (name)
  left join unserved on unserved.destination = name order by waiting desc, name limit ${destinationsMax}`

interface Unserved {
  readonly destination: string
  readonly broker: string
  readonly waiting: number
}

/**
 * Rows of the outbox whose destination has no live relay. Every process shows them, whatever it relays itself: where no relay runs, nobody
 * else would. Looked up asynchronously, not during the scrape.
 */
export class UnservedGauge {
  readonly #pool: SqlPool
  readonly #world: Surroundings
  readonly #stop: () => void
  /** What was unserved once and is not any more is shown as 0. */
  readonly #seen = new Map<string, Unserved>()
  #askedMs = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | null = null
  #closed = false
  #failed = false

  constructor(pool: SqlPool, world: Surroundings) {
    this.#pool = pool
    this.#world = world
    this.#stop = world.metrics.watch(['outboxUnserved'], see => {
      this.#lookIfDue()
      for (const { destination, broker, waiting } of this.#seen.values())
        see('outboxUnserved', waiting, { broker, destination })
    })
  }

  /** Resolves when no look is under way; nothing is asked any more. */
  async close(): Promise<void> {
    this.#closed = true
    this.#stop()
    await this.#looking
  }

  #lookIfDue(): void {
    const nowMs = this.#world.clock.nowMs()
    if (this.#closed || this.#looking !== null || nowMs - this.#askedMs < everyMs) return
    this.#askedMs = nowMs
    this.#looking = this.#look().finally(() => {
      this.#looking = null
    })
  }

  async #look(): Promise<void> {
    try {
      const { rows } = await this.#pool.query(read)
      for (const [name, known] of this.#seen) this.#seen.set(name, { ...known, waiting: 0 })
      for (const row of rows as Unserved[])
        if (this.#seen.has(row.destination) || this.#seen.size < destinationsMax)
          this.#seen.set(row.destination, row)
      this.#failed = false
    } catch (error) {
      if (!this.#failed && !this.#closed)
        this.#world.log.warn('rows of the outbox without a relay are not counted', {
          error: errorText(error),
        })
      this.#failed = true
    }
  }
}
