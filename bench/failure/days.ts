import { randomBytes } from 'node:crypto'
import { realEnvironment } from 'onceward'
import { createPool, migrate } from 'onceward/postgres'
import { resolveRetention } from '../../packages/onceward/src/contract/retention.ts'
import { insertMarkers } from '../../packages/onceward/src/drivers/postgres/sql/insert-markers.ts'
import { partitionConsumer } from '../../packages/onceward/src/operations/retention/partition-consumer.ts'
import { purgeConsumer } from '../../packages/onceward/src/operations/retention/purge-consumer.ts'
import { declareTerms } from '../../packages/onceward/src/operations/retention/record-pass.ts'
import { ensureServices } from '../../scripts/services/services.ts'
import { median } from '../median.ts'

/**
 * What daily partitions cost a claim and what they save a removal:
 * `node --conditions=@onceward/source bench/failure/days.ts [markers]`. Three databases: one table, one table
 * beside a consumer in days, and in days (35 of them).
 */
const markers = Number(process.argv[2] ?? 2_000_000)
const [rounds, perRound, batch] = [5, 100_000, 500]
const layouts = ['one table', 'beside days', 'in days'] as const
const dayMs = 86_400_000

type Pool = ReturnType<typeof createPool>
interface Place {
  readonly pool: Pool
  readonly consumerId: number
}

const [server] = await ensureServices(['postgres'])
if (server === undefined || 'unavailable' in server) throw new Error('PostgreSQL cannot be had')
const serverUrl = server.url
const admin = createPool(serverUrl, { max: 1 })
const names = layouts.map(() => `bench_days_${randomBytes(4).toString('hex')}`)
try {
  const places: Place[] = []
  for (const [index, layout] of layouts.entries()) places.push(await open(names[index]!, layout))
  await claims(places)
  await removals(places)
  for (const { pool } of places) await pool.end()
} finally {
  for (const name of names) await admin.query(`drop database if exists ${name} with (force)`)
  await admin.end()
}

async function open(name: string, layout: (typeof layouts)[number]): Promise<Place> {
  await admin.query(`create database ${name}`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  const pool = createPool(url.href, { max: 3 })
  await migrate(pool)
  const { rows } = await pool.query(
    `insert into onceward.consumer (name, generation, owner, risk) values ('bench', 1, 'bench', 'money'), ('other', 1, 'bench', 'money') returning id`,
  )
  const consumerId = rows[0].id as number
  // A marker on each of the last days, so that each gets its table.
  for (const id of [consumerId, rows[1].id])
    await pool.query(
      `insert into onceward.inbox (consumer_id, run_id, status, message_id, digest) select $1, 1, 'applied', id, '' from unnest($2::text[]) id`,
      [id, Array.from({ length: 34 }, (_, ago) => idAt(Date.now() - ago * dayMs, 0))],
    )
  if (layout !== 'one table')
    await partitionConsumer(pool, {
      name: layout === 'in days' ? 'bench' : 'other',
      generation: 1,
      retention: resolveRetention({ markers: '60d', partitions: 'daily' }, 'money'),
      identity: { idTime: 'uuidv7' },
    })
  return { pool, consumerId }
}

function idAt(ms: number, n: number): string {
  const hex = Math.floor(ms).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${n.toString(16).padStart(12, '0')}`
}

/** Microseconds a marker, in transactions of one batch: all new; and with one in ten claimed before. */
async function claims(places: readonly Place[]): Promise<void> {
  const fresh = layouts.map(() => [] as number[])
  const repeated = layouts.map(() => [] as number[])
  for (let round = 0; round <= rounds; round++)
    for (let turn = 0; turn < layouts.length; turn++) {
      const at = (turn + round) % layouts.length
      const place = places[at]!
      await place.pool.query('checkpoint')
      const first = await claimRound(place, round * perRound, 0)
      const again = await claimRound(place, round * perRound + perRound / 2, batch / 10)
      if (round === 0) continue
      fresh[at]!.push(first)
      repeated[at]!.push(again)
    }
  for (const [index, layout] of layouts.entries())
    console.log(
      `claim, ${layout}: ${median(fresh[index]!).toFixed(2)} us a marker; one in ten a duplicate: ${median(repeated[index]!).toFixed(2)} us`,
    )
}

async function claimRound({ pool, consumerId }: Place, from: number, duplicates: number): Promise<number> {
  const client = await pool.connect()
  const enrolment = { consumerId, runId: 1, facts: {} } as never
  const digest = randomBytes(32)
  const nowMs = Date.now()
  const beganMs = performance.now()
  for (let next = from; next < from + perRound / 2; next += batch) {
    const ids = Array.from({ length: batch }, (_, n) =>
      idAt(nowMs, next + n - (n < duplicates ? batch - duplicates : 0)),
    )
    await client.query(`begin; set local onceward.run = '1'`)
    await insertMarkers(client, enrolment, ids.map(id => ({ id, digest, position: null })) as never)
    await client.query('commit')
  }
  client.release()
  return ((performance.now() - beganMs) * 1_000) / (perRound / 2)
}

/** A day of old markers: row by row out of one table, and dropped; and how long claims waited meanwhile. */
async function removals([whole, , days]: readonly Place[]): Promise<void> {
  const oldMs = Date.now() - 40 * dayMs
  for (const [name, place] of [
    ['row by row', whole!],
    ['dropped', days!],
  ] as const) {
    const { pool, consumerId } = place
    const section = { markers: '30d', ...(place === days && { partitions: 'daily' as const }) }
    const retention = resolveRetention(section, 'money')
    await declareTerms(pool, consumerId, retention, 0)
    if (place === days)
      await pool.query(`select onceward.make_day($1, to_timestamp($2)::date)`, [consumerId, oldMs / 1_000])
    await pool.query(
      `insert into onceward.inbox (consumer_id, run_id, at, status, message_id, digest)
       select $1, 1, to_timestamp($2::float8 / 1000), 'applied', $3 || lpad(to_hex(n), 12, '0'), decode(repeat('ab', 32), 'hex')
       from generate_series(1, $4::integer) n`,
      [consumerId, oldMs, idAt(oldMs, 0).slice(0, 24), markers],
    )
    await pool.query('vacuum analyze onceward.inbox')
    await pool.query('checkpoint')
    const stop = new AbortController()
    const waited = longestClaim(place, stop.signal)
    const env = realEnvironment()
    const beganMs = performance.now()
    const { removed, putOff } = await purgeConsumer({
      pool,
      env,
      consumerId,
      consumerName: 'bench',
      retention,
      clocks: { wallMs: Date.now, clock: env.clock },
      share: 1,
    })
    const ms = performance.now() - beganMs
    stop.abort()
    console.log(
      `${removed.markers} markers ${name}: ${ms.toFixed(0)} ms for the pass, longest claim beside it ${(await waited).toFixed(0)} ms ${putOff ?? ''}`,
    )
  }
}

async function longestClaim({ pool, consumerId }: Place, signal: AbortSignal): Promise<number> {
  let longest = 0
  for (let n = 0; !signal.aborted; n++) {
    const beganMs = performance.now()
    await pool.query(
      `insert into onceward.inbox (consumer_id, run_id, status, message_id, digest) values ($1, 1, 'applied', $2, '')`,
      [consumerId, idAt(Date.now(), 900_000_000 + n)],
    )
    longest = Math.max(longest, performance.now() - beganMs)
  }
  return longest
}
