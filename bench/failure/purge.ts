import { realEnvironment } from 'onceward'
import { createPool } from 'onceward/postgres'
import { resolveRetention } from '../../packages/onceward/src/contract/retention.ts'
import { purgeConsumer } from '../../packages/onceward/src/operations/retention/purge-consumer.ts'
import { ContenderProcess } from '../contender-process.ts'
import { fillPostgres } from '../fill.ts'
import { type PreparedPlace, queueNameOf } from '../place.ts'
import { bodiesOf } from '../workload.ts'

/** What removing old markers costs a consumer that works meanwhile. */
export interface Purge {
  readonly markers: number
  /** Messages per second while nothing is removed, and while it is. */
  readonly alone: readonly number[]
  readonly beside: readonly number[]
  /** Removed per second while it had its turn. */
  readonly removedPerSecond: number
}

interface PurgePlan {
  readonly rounds: number
  readonly count: number
  readonly purgeRows: number
}

const live = 'postgres, batch form'
/** Until the server has written out what was filled in. */
const warmUps = 4

/** Rounds without and with a removal under way, in turn; the removal stands still in between. */
export async function measurePurge(
  place: PreparedPlace,
  { rounds, count, purgeRows }: PurgePlan,
  say: (line: string) => void,
): Promise<Purge> {
  const process = new ContenderProcess({ name: live }, place, null)
  let round = 0
  const rate = async () => {
    const queue = queueNameOf(live)
    const load = { ids: 'ordered' as const, round: ++round, count }
    await place.pool.query('truncate onceward.queue_message')
    await fillPostgres(place.pool, queue, bodiesOf(load))
    await place.pool.query('checkpoint')
    const { seconds } = await process.consume({ queue, group: '', partitions: 1, load })
    return count / seconds
  }
  const alone: number[] = []
  const beside: number[] = []
  say(`writing ${purgeRows.toLocaleString('en-US')} old markers`)
  const consumerId = await writeMarkers(place, purgeRows)
  const removal = startRemoval(place.databaseUrl, consumerId)
  try {
    for (let index = 0; index < warmUps; index++) await rate()
    for (let index = 0; index < rounds; index++) {
      const turns = [
        async () => void alone.push(await rate()),
        async () => {
          removal.open()
          beside.push(await rate().finally(() => removal.close()))
        },
      ]
      for (const turn of index % 2 === 0 ? turns : turns.reverse()) await turn()
      say(
        `alone ${Math.round(alone.at(-1)!)}/s  beside ${Math.round(beside.at(-1)!)}/s  removed ${removal.removed}`,
      )
    }
    if (removal.removed === 0 || removal.over) throw new Error('the removal did not last through the rounds')
  } finally {
    await removal.end()
    await process.end()
  }
  return { markers: purgeRows, alone, beside, removedPerSecond: removal.removed / removal.openSeconds }
}

/** A pass at its usual share, whose pauses last as long as its gate is closed. */
function startRemoval(databaseUrl: string, consumerId: number) {
  const pool = createPool(databaseUrl, { max: 2 })
  const real = realEnvironment()
  const stop = new AbortController()
  let isOpen = false
  let waiting: (() => void) | null = null
  let openedMs = 0
  let openMs = 0
  const state = { removed: 0, over: false }
  const env = {
    ...real,
    timers: {
      ...real.timers,
      after: (delayMs: number, callback: () => void) =>
        real.timers.after(delayMs, () => {
          if (isOpen) callback()
          else waiting = callback
        }),
    },
  }
  const start = () =>
    purgeConsumer({
      pool,
      env,
      consumerId,
      consumerName: 'old',
      retention: resolveRetention({ markers: '30d' }, 'money'),
      clocks: { wallMs: Date.now, clock: real.clock },
      signal: stop.signal,
      onProgress: ({ removed }) => {
        state.removed = removed
      },
    }).then(() => {
      state.over = true
    })
  let pass: Promise<void> | null = null
  return {
    get removed() {
      return state.removed
    },
    get over() {
      return state.over
    },
    get openSeconds() {
      return openMs / 1_000
    },
    open() {
      isOpen = true
      openedMs = performance.now()
      pass ??= start()
      waiting?.()
      waiting = null
    },
    close() {
      isOpen = false
      openMs += performance.now() - openedMs
    },
    async end() {
      stop.abort()
      await pass
      await pool.end()
    },
  }
}

async function writeMarkers({ pool }: PreparedPlace, rows: number): Promise<number> {
  const { rows: made } = await pool.query(
    `insert into onceward.consumer (name, generation, owner, risk) values ('old', 1, 'bench', 'money') returning id`,
  )
  // One by one into the index, ten million random ids would take longer than all rounds.
  await pool.query('alter table onceward.inbox drop constraint inbox_pkey')
  const step = 500_000
  for (let from = 0; from < rows; from += step) {
    await pool.query(`insert into onceward.inbox (consumer_id, run_id, at, status, message_id, digest)
      select ${made[0].id}, 1, now() - interval '40 days', 'applied', gen_random_uuid()::text, decode(repeat('ab', 32), 'hex')
      from generate_series(${from + 1}, ${Math.min(rows, from + step)})`)
  }
  await pool.query(
    'alter table onceward.inbox add constraint inbox_pkey primary key (consumer_id, message_id)',
  )
  await pool.query('vacuum analyze onceward.inbox')
  await pool.query('checkpoint')
  return made[0].id
}
