import type { createPool } from 'onceward/postgres'
import type { ChildMessage } from './child.ts'
import type { WorkerName, Workers } from './workers.ts'

/** The numbers of a view, read from the database and reported by the processes. */
export interface Progress {
  readonly seconds: number
  readonly captures: number
  readonly messages: number
  readonly produced: number
  readonly applied: number
  readonly completed: number
  readonly unknown: number
  readonly duplicates: number
  readonly conflicts: number
  readonly malformed: number
  readonly outbox: number
  readonly charges: number
  readonly hung: number
  readonly errors: number
  readonly kills: Readonly<Record<WorkerName, number>>
}

const counts = `
  select
    (select count(*) from capture)::int as applied,
    (select count(*) from onceward.ledger where state = 'completed')::int as completed,
    (select count(*) from onceward.ledger where state = 'unknown')::int as unknown,
    (select count(*) from onceward.held where code = 'conflict')::int as conflicts,
    (select count(*) from onceward.held where code <> 'conflict')::int as malformed,
    (select count(*) from onceward.outbox)::int as outbox`

type Counts = Pick<Progress, 'applied' | 'completed' | 'unknown' | 'conflicts' | 'malformed' | 'outbox'>
type GatewayCounts = Pick<Progress, 'charges' | 'hung' | 'errors'>

/** Collects the numbers of one run. */
export class ProgressReader {
  readonly #pool: ReturnType<typeof createPool>
  readonly #workers: Workers
  readonly #planned: { readonly captures: number; readonly messages: number }
  readonly #began = performance.now()
  #latest: Progress
  #produced = 0
  #gateway: GatewayCounts = { charges: 0, hung: 0, errors: 0 }

  constructor(
    pool: ReturnType<typeof createPool>,
    workers: Workers,
    planned: { readonly captures: number; readonly messages: number },
  ) {
    this.#pool = pool
    this.#workers = workers
    this.#planned = planned
    this.#latest = this.#with({ applied: 0, completed: 0, unknown: 0, conflicts: 0, malformed: 0, outbox: 0 })
  }

  heard(message: ChildMessage): void {
    if (message.kind === 'produced') this.#produced = message.count as number
    if (message.kind === 'gateway') this.#gateway = message as unknown as GatewayCounts
  }

  /** As last read. */
  get latest(): Progress {
    return this.#latest
  }

  async read(): Promise<Progress> {
    const { rows } = await this.#pool.query(counts)
    this.#latest = this.#with(rows[0] as Counts)
    return this.#latest
  }

  #with(found: Counts): Progress {
    const { charges, hung, errors } = this.#gateway
    return {
      ...found,
      ...this.#planned,
      seconds: (performance.now() - this.#began) / 1_000,
      produced: this.#produced,
      duplicates: this.#workers.reported().duplicates,
      charges,
      hung,
      errors,
      kills: { ...this.#workers.kills },
    }
  }
}
