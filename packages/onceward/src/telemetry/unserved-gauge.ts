import type { SqlPool } from '../drivers/postgres/pool.ts'
import { type OpenLosses, readOpenLosses } from '../drivers/postgres/status/open-losses.ts'
import { readUnservedOutbox, type UnservedDestination } from '../drivers/postgres/status/unserved-outbox.ts'
import { readUnservedWork, type UnservedWork } from '../drivers/postgres/status/unserved-work.ts'
import type { Environment } from '../environment.ts'
import { errorText } from '../errors.ts'
import { lackText } from './lack-text.ts'
import type { Labels } from './metrics.ts'

/** The shortest time between two reads, however often metrics are collected. */
const everyMs = 5_000
/** Rows reported at most, so that labels stay bounded. More of them mean an error elsewhere. */
const shownMax = 50

type Key = 'outboxUnserved' | 'heldUnserved' | 'losses'

interface Unserved<K extends Key, Row> {
  readonly key: K
  readonly read: (pool: SqlPool, rowsMax: number) => Promise<readonly Row[]>
  readonly labels: (row: Row) => Labels<K>
  /** The log line for a failed read. */
  readonly unknown: string
}

/**
 * Rows of the outbox whose destination has no live relay. Known destinations with a relay are reported as 0.
 */
const outbox: Unserved<'outboxUnserved', UnservedDestination> = {
  key: 'outboxUnserved',
  read: readUnservedOutbox,
  labels: ({ broker, destination }) => ({ broker, destination }),
  unknown: 'outbox rows without a relay could not be counted',
}

/**
 * Held work of any consumer of the database that no worker processes. Consumers with a worker are reported as
 * 0.
 */
const work: Unserved<'heldUnserved', UnservedWork> = {
  key: 'heldUnserved',
  read: readUnservedWork,
  labels: row => ({ 'waits.for': lackText(row) }),
  unknown: 'held work without a worker could not be counted',
}

/** A consumer that finds a loss halts, and its process ends: the others report it. */
const losses: Unserved<'losses', OpenLosses> = {
  key: 'losses',
  read: readOpenLosses,
  labels: ({ consumer }) => ({ consumer }),
  unknown: 'losses could not be counted',
}

/**
 * Every process reports what no process serves, because the process that should is missing. The database is
 * read asynchronously, not during the scrape.
 */
class UnservedGauge<K extends Key, Row extends { readonly waiting: number }> {
  readonly #of: Unserved<K, Row>
  readonly #pool: SqlPool
  readonly #env: Environment
  readonly #stop: () => void
  /** An entry that was unserved once is reported as 0 when it is served again. */
  readonly #seen = new Map<string, { readonly labels: Labels<K>; readonly waiting: number }>()
  #askedMs = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | null = null
  #closed = false
  #failed = false

  constructor(of: Unserved<K, Row>, pool: SqlPool, env: Environment) {
    this.#of = of
    this.#pool = pool
    this.#env = env
    this.#stop = env.metrics.watch([of.key], see => {
      this.#lookIfDue()
      for (const { labels, waiting } of this.#seen.values()) see(of.key, waiting, labels)
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stop()
    await this.#looking
  }

  #lookIfDue(): void {
    const nowMs = this.#env.clock.nowMs()
    if (this.#closed || this.#looking !== null || nowMs - this.#askedMs < everyMs) return
    this.#askedMs = nowMs
    this.#looking = this.#look().finally(() => {
      this.#looking = null
    })
  }

  async #look(): Promise<void> {
    try {
      const rows = await this.#of.read(this.#pool, shownMax)
      for (const [name, known] of this.#seen) this.#seen.set(name, { ...known, waiting: 0 })
      for (const row of rows) this.#note(row)
      this.#failed = false
    } catch (error) {
      if (!this.#failed && !this.#closed) this.#env.log.warn(this.#of.unknown, { error: errorText(error) })
      this.#failed = true
    }
  }

  #note(row: Row): void {
    const labels = this.#of.labels(row)
    const name = JSON.stringify(labels)
    const isFull = !this.#seen.has(name) && this.#seen.size >= shownMax
    if (isFull && (row.waiting === 0 || !this.#forgetServed())) return
    this.#seen.set(name, { labels, waiting: row.waiting })
  }

  /** An entry that is 0 makes room for one that waits. False if there is none. */
  #forgetServed(): boolean {
    for (const [name, { waiting }] of this.#seen) if (waiting === 0) return this.#seen.delete(name)
    return false
  }
}

/** The gauges of all unserved rows. `close` stops reading and resolves when the current read has ended. */
export function showUnserved(pool: SqlPool, env: Environment): { close(): Promise<void> } {
  const gauges = [
    new UnservedGauge(outbox, pool, env),
    new UnservedGauge(work, pool, env),
    new UnservedGauge(losses, pool, env),
  ]
  return {
    async close() {
      for (const gauge of gauges) await gauge.close()
    },
  }
}
