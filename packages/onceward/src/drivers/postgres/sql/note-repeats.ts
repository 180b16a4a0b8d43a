import type { Enrolment } from '../../../ports/enrolment.ts'
import type { SqlClient } from '../pool.ts'

const insert = `
  insert into onceward.note as n (consumer_id, message_id, code, detail, at, times, run_id)
  select repeat.consumer_id, repeat.id, 'repeated', 'delivered again and recognised by its id', clock_timestamp(), repeat.times, repeat.run_id
  from unnest($1::integer[], $2::integer[], $3::text[], $4::integer[]) as repeat (consumer_id, run_id, id, times)
  order by repeat.consumer_id, repeat.id
  on conflict (consumer_id, message_id, code) do update
    set times = n.times + excluded.times, last_at = excluded.at, run_id = excluded.run_id`

interface Repeat {
  readonly consumerId: number
  readonly runId: number
  readonly id: string
  times: number
}

/**
 * The number of pending notes, and how often they are written: a rewound log of repeats costs the database
 * next to nothing.
 */
const pendingMax = 1_000
const restMs = 1_000

/**
 * Counts duplicate deliveries, asynchronously and never in the transactions of batches:
 *
 *   idle ─(first repeat)─▶ writing ─▶ resting ─(more came)─▶ writing …
 *
 * Repeats beyond `pendingMax` are only in the metrics.
 */
export class RepeatNotes {
  readonly #client: SqlClient
  #pending = new Map<string, Repeat>()
  #writing: Promise<void> | null = null
  #rest: NodeJS.Timeout | null = null

  constructor(client: SqlClient) {
    this.#client = client
  }

  add({ consumerId, runId }: Enrolment, ids: readonly string[]): void {
    for (const id of ids) {
      const key = `${consumerId} ${id}`
      const known = this.#pending.get(key)
      if (known !== undefined) known.times++
      else if (this.#pending.size < pendingMax) this.#pending.set(key, { consumerId, runId, id, times: 1 })
    }
    if (this.#writing === null && this.#rest === null) this.#write()
  }

  /** Called when a run closes, so that no note is lost. */
  async flush(): Promise<void> {
    await this.#writing
    if (this.#rest !== null) clearTimeout(this.#rest)
    this.#rest = null
    if (this.#pending.size > 0) this.#write()
    await this.#writing
  }

  #write(): void {
    const repeats = [...this.#pending.values()]
    this.#pending = new Map()
    const written = this.#client.query(insert, [
      repeats.map(one => one.consumerId),
      repeats.map(one => one.runId),
      repeats.map(one => one.id),
      repeats.map(one => one.times),
    ])
    this.#writing = written.then(
      () => this.#ended(),
      () => this.#ended(),
    )
  }

  #ended(): void {
    this.#writing = null
    this.#rest = setTimeout(() => {
      this.#rest = null
      if (this.#pending.size > 0) this.#write()
    }, restMs)
    this.#rest.unref()
  }
}
