import { countBehind, countRows, readOldestSeconds } from '../../drivers/postgres/outbox/measure-outbox.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Environment } from '../../environment.ts'
import type { RelayOptions } from './relay-options.ts'

/**
 * The age of the oldest row of a destination and the number of its rows, for all relays together. Read
 * asynchronously, not during the scrape.
 */
export class OutboxWatch {
  readonly #pool: SqlPool
  readonly #destination: string
  readonly #stop: () => void
  readonly #env: Environment
  readonly #failing: () => number
  #seen = { oldestSeconds: 0, atMs: 0 }
  #size: number | null = null
  #behind = 0
  /** Set by a scrape. Rows are counted only when metrics are collected. */
  #asked = false

  constructor(
    {
      pool,
      broker,
      destination = broker,
      env,
    }: Pick<RelayOptions, 'pool' | 'broker' | 'destination' | 'env'>,
    failing: () => number,
  ) {
    this.#pool = pool
    this.#destination = destination
    const labels = { broker, destination }
    this.#env = env
    this.#failing = failing
    const shown = ['outboxOldest', 'outboxFailing', 'outboxBehind', 'outboxSize'] as const
    this.#stop = env.metrics.watch(shown, see => {
      this.#asked = true
      if (this.#size !== null) see('outboxSize', this.#size, labels)
      see('outboxOldest', this.#oldestSeconds(), labels)
      see('outboxFailing', failing(), labels)
      see('outboxBehind', this.#behind, labels)
    })
  }

  async read(): Promise<void> {
    const oldestSeconds = await readOldestSeconds(this.#pool, this.#destination)
    this.#seen = { oldestSeconds, atMs: this.#env.clock.nowMs() }
    if (!this.#asked) return
    this.#asked = false
    this.#size = await countRows(this.#pool, this.#destination)
    this.#behind = this.#failing() === 0 ? 0 : await countBehind(this.#pool, this.#destination)
  }

  close(): void {
    this.#stop()
  }

  /** Between two reads the age grows with the clock. */
  #oldestSeconds(): number {
    const { oldestSeconds, atMs } = this.#seen
    if (oldestSeconds === 0) return 0
    return oldestSeconds + (this.#env.clock.nowMs() - atMs) / 1_000
  }
}
