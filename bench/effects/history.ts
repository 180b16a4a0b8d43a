import { ContenderProcess } from '../contender-process.ts'
import { fillPostgres } from '../fill.ts'
import { median } from '../median.ts'
import { type PreparedPlace, queueNameOf } from '../place.ts'
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

/** Completed markers and ledger rows in front of the same work, the calls not made: the transaction writes one of each per message. */
export async function measureHistory(
  place: PreparedPlace,
  { rounds, count, historyRows }: HistoryPlan,
  say: (line: string) => void,
): Promise<readonly History[]> {
  const process = new ContenderProcess({ name: 'intents' }, place, null)
  let round = 0
  const rate = async (ids: IdOrder): Promise<number> => {
    const queue = queueNameOf('intents')
    const load = { ids, round: ++round, count }
    await place.pool.query('truncate onceward.queue_message')
    await fillPostgres(place.pool, queue, bodiesOf(load))
    await place.pool.query('checkpoint')
    const { seconds } = await process.consume({ queue, group: '', partitions: 1, load })
    say(`${ids} ids  ${Math.round(count / seconds)}/s`)
    return count / seconds
  }
  const several = async (ids: IdOrder) => {
    const rates: number[] = []
    for (let index = 0; index < rounds; index++) rates.push(await rate(ids))
    return rates
  }
  const measured: History[] = []
  try {
    await rate('ordered')
    for (const ids of ['ordered', 'random'] as const) {
      await place.pool.query('truncate onceward.inbox, onceward.ledger')
      const empty = await several(ids)
      say(`writing ${historyRows.toLocaleString('en-US')} completed rows each into inbox and ledger`)
      await writeHistory(place, ids, historyRows)
      measured.push({ rows: historyRows, ids, empty, full: await several(ids) })
    }
  } finally {
    await process.end()
  }
  return measured
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
