import { ContenderProcess } from '../contender-process.ts'
import { fillPostgres } from '../fill.ts'
import { median } from '../median.ts'
import { type PreparedPlace, preparePlace, queueNameOf } from '../place.ts'
import { bodiesOf, type IdOrder } from '../workload.ts'

/** What past messages cost the present ones. */
export interface History {
  readonly rows: number
  readonly ids: IdOrder
  /** Messages per second with nothing before them, and with all of it. */
  readonly empty: readonly number[]
  readonly full: readonly number[]
}

interface HistoryPlan {
  readonly rounds: number
  readonly count: number
  readonly historyRows: number
}

const consumer = `(select id from onceward.consumer where name = 'increments_dispatched')`

/** Ids as the round's own: rising before them, or drawn from everywhere. */
const idOf: Record<IdOrder, string> = {
  ordered: `'00000000-0000-7000-8000-' || lpad(n::text, 12, '0')`,
  random: 'gen_random_uuid()::text',
}

/**
 * Completed markers and ledger rows in front of the same work, the calls not made: the transaction writes one
 * of each per message. A database with all of them and one with none take turns, since filling takes minutes
 * and the machine is not the same after them.
 */
export async function measureHistory(
  full: PreparedPlace,
  { rounds, count, historyRows }: HistoryPlan,
  say: (line: string) => void,
): Promise<readonly History[]> {
  const empty = await preparePlace(['postgres'])
  const sides = { full: new Side(full, count), empty: new Side(empty, count) }
  const measured: History[] = []
  try {
    for (const ids of ['ordered', 'random'] as const) {
      for (const { pool } of [full, empty]) await pool.query('truncate onceward.inbox, onceward.ledger')
      say(`writing ${historyRows.toLocaleString('en-US')} completed rows each into inbox and ledger`)
      for (const side of [sides.full, sides.empty]) await side.rate(ids)
      await writeHistory(full, ids, historyRows)
      const found = { full: [] as number[], empty: [] as number[] }
      for (let round = 0; round < rounds; round++) {
        for (const side of round % 2 === 0 ? (['full', 'empty'] as const) : (['empty', 'full'] as const))
          found[side].push(await sides[side].rate(ids))
        say(`${ids} ids  none ${Math.round(found.empty.at(-1)!)}/s  all ${Math.round(found.full.at(-1)!)}/s`)
      }
      measured.push({ rows: historyRows, ids, ...found })
    }
  } finally {
    for (const side of Object.values(sides)) await side.end()
    await empty.drop()
  }
  return measured
}

class Side {
  readonly #place: PreparedPlace
  readonly #count: number
  readonly #process: ContenderProcess
  #round = 0

  constructor(place: PreparedPlace, count: number) {
    this.#place = place
    this.#count = count
    this.#process = new ContenderProcess({ name: 'intents' }, place, null)
  }

  async rate(ids: IdOrder): Promise<number> {
    const { pool } = this.#place
    const queue = queueNameOf('intents')
    const load = { ids, round: ++this.#round, count: this.#count }
    await pool.query('truncate onceward.queue_message')
    await fillPostgres(pool, queue, bodiesOf(load))
    await pool.query('checkpoint')
    const { seconds } = await this.#process.consume({ queue, group: '', partitions: 1, load })
    return this.#count / seconds
  }

  end(): Promise<void> {
    return this.#process.end()
  }
}

async function writeHistory({ pool }: PreparedPlace, ids: IdOrder, rows: number): Promise<void> {
  const step = 500_000
  for (let from = 0; from < rows; from += step) {
    const numbers = `generate_series(${from + 1}, ${Math.min(rows, from + step)}) as n`
    await pool.query(`insert into onceward.inbox (consumer_id, run_id, status, message_id, digest)
      select ${consumer}, 1, 'applied', ${idOf[ids]}, decode(repeat('ab', 32), 'hex') from ${numbers}`)
    await pool.query(`insert into onceward.ledger (consumer_name, target, effect_key, state, run_id, message_id, request_digest, content_type, body)
      select 'increments_dispatched', 'gateway', ${idOf[ids]}, 'completed', 1, 'm' || n, decode(repeat('ab', 32), 'hex'), 'application/json', '{}'
      from ${numbers}`)
  }
  await pool.query('vacuum analyze onceward.inbox')
  await pool.query('vacuum analyze onceward.ledger')
  await pool.query('checkpoint')
}

export function slowdown({ empty, full }: History): number {
  return median(full) / median(empty)
}
