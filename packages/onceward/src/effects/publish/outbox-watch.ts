import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Environment } from '../../environment.ts'
import type { RelayOptions } from './relay-options.ts'

/** The front of each bucket is its oldest row, or close to it. */
const oldest = `
  select extract(epoch from clock_timestamp() - min(created_at))::float8 as seconds
  from generate_series(0, 31) as every (bucket) cross join lateral (
    select created_at from onceward.outbox where destination = $1 and outbox.bucket = every.bucket order by id limit 1
  ) as front`

const size =
  'select count(*)::float8 as n from (select from onceward.outbox where destination = $1 limit 100000) first'

const behind =
  'select coalesce(sum(behind), 0)::float8 as n from onceward.outbox_stuck where destination = $1'

/**
 * How old the oldest row for a destination is, and how many there are, whoever is to carry them: read now and
 * then, shown whenever metrics are collected.
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
  /** Somebody collects: only then are rows counted. */
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
    const { rows } = await this.#pool.query(oldest, [this.#destination])
    this.#seen = { oldestSeconds: rows[0].seconds ?? 0, atMs: this.#env.clock.nowMs() }
    if (!this.#asked) return
    this.#asked = false
    this.#size = (await this.#pool.query(size, [this.#destination])).rows[0].n
    this.#behind = this.#failing() === 0 ? 0 : (await this.#pool.query(behind, [this.#destination])).rows[0].n
  }

  close(): void {
    this.#stop()
  }

  /** Nothing is known to have left since the last reading, so it grows with time. */
  #oldestSeconds(): number {
    const { oldestSeconds, atMs } = this.#seen
    if (oldestSeconds === 0) return 0
    return oldestSeconds + (this.#env.clock.nowMs() - atMs) / 1_000
  }
}
