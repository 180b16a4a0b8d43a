import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { ContenderProcess } from '../contender-process.ts'
import { fillPostgres } from '../fill.ts'
import { type PreparedPlace, queueNameOf } from '../place.ts'
import { bodiesOf, type IdOrder } from '../workload.ts'

/** For each message: WAL in bytes, pages written whole into it, and pages of the markers that were read. */
export interface Round {
  readonly rate: number
  readonly walBytes: number
  readonly fullPages: number
  readonly pagesRead: number
}

const contender = 'postgres, batch form'

/** A session reports its statistics at most once a second. */
const reportedMs = 1_200

/** The batch form on a queue of one database. The queue's own rows are a part of its WAL, on both sides. */
export class MarkerSide {
  readonly #place: PreparedPlace
  readonly #count: number
  readonly #process: ContenderProcess
  #round = 0

  constructor(place: PreparedPlace, count: number) {
    this.#place = place
    this.#count = count
    this.#process = new ContenderProcess({ name: contender }, place, null)
  }

  async round(ids: IdOrder, checkpoint: boolean): Promise<Round> {
    const { pool } = this.#place
    const queue = queueNameOf(contender)
    const load = { ids, round: ++this.#round, count: this.#count }
    await pool.query('truncate onceward.queue_message')
    await fillPostgres(pool, queue, bodiesOf(load))
    if (checkpoint) await pool.query('checkpoint')
    await sleep(reportedMs)
    const before = await statistics(pool)
    const { seconds } = await this.#process.consume({ queue, group: '', partitions: 1, load })
    await sleep(reportedMs)
    const after = await statistics(pool)
    const each = (of: keyof Statistics) => (after[of] - before[of]) / this.#count
    return {
      rate: this.#count / seconds,
      walBytes: each('wal'),
      fullPages: each('pages'),
      pagesRead: each('read'),
    }
  }

  end(): Promise<void> {
    return this.#process.end()
  }
}

interface Statistics {
  readonly wal: number
  readonly pages: number
  readonly read: number
}

async function statistics(pool: pg.Pool): Promise<Statistics> {
  const { rows } = await pool.query(`
    select (pg_current_wal_lsn() - '0/0')::float8 as wal,
      (select wal_fpi::float8 from pg_stat_wal) as pages,
      (select (heap_blks_read + idx_blks_read)::float8 from pg_statio_all_tables
       where relid = 'onceward.inbox'::regclass) as read`)
  return rows[0]
}
