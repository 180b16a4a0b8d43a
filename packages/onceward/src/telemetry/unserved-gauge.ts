import type { SqlPool } from '../drivers/postgres/pool.ts'
import { readUnservedOutbox, type UnservedDestination } from '../drivers/postgres/status/unserved-outbox.ts'
import { readUnservedWork, type UnservedWork } from '../drivers/postgres/status/unserved-work.ts'
import type { Environment } from '../environment.ts'
import { errorText } from '../errors.ts'
import { lackText } from './lack-text.ts'
import type { Labels } from './metrics.ts'

/** Time between two looks at least, however often metrics are collected. */
const everyMs = 5_000
/** More than this are an error elsewhere; labels stay bounded. */
const shownMax = 50

type Key = 'outboxUnserved' | 'heldUnserved'

interface Unserved<K extends Key, Row> {
  readonly key: K
  readonly read: (pool: SqlPool, rowsMax: number) => Promise<readonly Row[]>
  readonly labels: (row: Row) => Labels<K>
  /** What is not known when the database does not answer. */
  readonly unknown: string
}

/**
 * Rows of the outbox whose destination has no live relay. Destinations that are served or known are shown as
 * 0.
 */
const outbox: Unserved<'outboxUnserved', UnservedDestination> = {
  key: 'outboxUnserved',
  read: readUnservedOutbox,
  labels: ({ broker, destination }) => ({ broker, destination }),
  unknown: 'rows of the outbox without a relay are not counted',
}

/**
 * Held work of any consumer of the database that nobody does. Consumers whose work is done are shown as 0.
 */
const work: Unserved<'heldUnserved', UnservedWork> = {
  key: 'heldUnserved',
  read: readUnservedWork,
  labels: row => ({ 'waits.for': lackText(row) }),
  unknown: 'held work without a worker is not counted',
}

/**
 * Every process shows what no process serves, whatever it serves itself: nobody else would. Looked up
 * asynchronously, not during the scrape.
 */
class UnservedGauge<K extends Key, Row extends { readonly waiting: number }> {
  readonly #of: Unserved<K, Row>
  readonly #pool: SqlPool
  readonly #env: Environment
  readonly #stop: () => void
  /** What was unserved once and is not any more is shown as 0. */
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
    if (this.#seen.has(name) || this.#seen.size < shownMax)
      this.#seen.set(name, { labels, waiting: row.waiting })
  }
}

/** Resolves when no look is under way; nothing is asked any more. */
export function showUnserved(pool: SqlPool, env: Environment): { close(): Promise<void> } {
  const gauges = [new UnservedGauge(outbox, pool, env), new UnservedGauge(work, pool, env)]
  return {
    async close() {
      for (const gauge of gauges) await gauge.close()
    },
  }
}
