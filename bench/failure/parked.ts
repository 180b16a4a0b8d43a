import { defineConsumer, runConsumer, type SqlTransaction } from 'onceward'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { groupParked } from '../../packages/onceward/src/operations/parking/group-parked.ts'
import { listParked } from '../../packages/onceward/src/operations/parking/list-parked.ts'
import { previewParked } from '../../packages/onceward/src/operations/parking/preview-parked.ts'
import { runRedrive, startRedrive } from '../../packages/onceward/src/operations/parking/redrive-parked.ts'
import { createDatabase } from '../../packages/onceward/test/services/services.ts'
import { median } from '../median.ts'

type Pool = ReturnType<typeof createPool>

export interface ParkedRates {
  /** Milliseconds, median. */
  readonly looks: readonly { readonly what: string; readonly parked: number; readonly ms: number }[]
  /** Of a hundred thousand to a thousand. */
  readonly grows: readonly { readonly what: string; readonly ratio: number }[]
  /** Messages per second. */
  readonly live: number
  readonly redrive: number
}

const causes = 20

/** Rows as the engine leaves them, with their markers, of twenty causes. */
const park = `
  with made as (
    insert into onceward.held (consumer_id, run_id, state, message_id, digest, reason, failure_class, code, attempts, origin, delivery_count,
      headers, properties, body)
    select $1, 1, 'parked', 'p-' || n, sha256(n::text::bytea), 'cannot', 'transient', 'E' || n % ${causes}, 1, 'orders', 0, '{}', '{}',
      convert_to('{"id":"p-' || n || '","amount":1,"text":"' || repeat('x', 300) || '"}', 'UTF8')
    from generate_series($2::int, $3::int) n returning consumer_id, run_id, message_id, digest)
  insert into onceward.inbox (consumer_id, run_id, status, message_id, digest)
  select consumer_id, run_id, 'parked', message_id, digest from made`

async function enrol(pool: Pool, name: string): Promise<number> {
  const { rows } = await pool.query(
    `insert into onceward.consumer (name, generation, owner, risk) values ($1, 1, 'bench', 'low value') returning id`,
    [name],
  )
  return rows[0].id
}

async function timed(runs: number, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let run = 0; run < runs; run++) {
    const began = performance.now()
    await work()
    times.push(performance.now() - began)
  }
  return median(times)
}

async function measureLooks(pool: Pool, sizes: readonly number[]) {
  const looks: { what: string; parked: number; ms: number }[] = []
  for (const parked of sizes) {
    const consumer = `parked_${parked}`
    const id = await enrol(pool, consumer)
    await pool.query(park, [id, 1, parked])
    await groupParked(pool, { consumer, countMax: 50 })
    await pool.query('vacuum analyze onceward.held; ')
    const kinds: readonly [string, () => Promise<unknown>][] = [
      ['list', () => listParked(pool, { consumer, countMax: 50 })],
      ['group', () => groupParked(pool, { consumer, countMax: 50 })],
      ['preview', () => previewParked(pool, { consumer, countMax: 500 })],
    ]
    for (const [what, look] of kinds) {
      await look()
      looks.push({ what, parked, ms: await timed(25, look) })
    }
  }
  return looks
}

function consumerOf(name: string) {
  return defineConsumer<{ id: string; amount: number }, SqlTransaction>({
    name,
    owner: 'bench',
    risk: 'low value',
    source: postgresQueue(name),
    identity: { id: m => m.id },
    async handleBatch({ batch, tx }) {
      const amounts = batch.map(({ message }) => message.amount)
      await tx.query('insert into total select sum(a), count(*) from unnest($1::int[]) a', [amounts])
    },
  })
}

async function applied(pool: Pool, count: number): Promise<void> {
  for (;;) {
    const { rows } = await pool.query('select coalesce(sum(n), 0)::int as n from total')
    if (rows[0].n >= count) return
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

async function measureLive(pool: Pool, databaseUrl: string, count: number): Promise<number> {
  await createQueue(pool, 'live')
  const bodies = Array.from({ length: count }, (_, n) => ({
    body: { id: `p-${n}`, amount: 1, text: 'x'.repeat(300) },
  }))
  for (let at = 0; at < count; at += 5_000) await publish(pool, 'live', bodies.slice(at, at + 5_000))
  const began = performance.now()
  const running = await runConsumer(consumerOf('live'), { databaseUrl })
  await applied(pool, count)
  const seconds = (performance.now() - began) / 1000
  await running.drain()
  await pool.query('truncate total')
  return count / seconds
}

/** From the order to the last effect, with the worker that a consumer starts by itself. */
async function measureRedrive(pool: Pool, databaseUrl: string, count: number): Promise<number> {
  const consumer = 'redriven'
  await createQueue(pool, consumer)
  await pool.query(park, [await enrol(pool, consumer), 1, count])
  const running = await runConsumer(consumerOf(consumer), { databaseUrl })
  const pause = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))
  const began = performance.now()
  const { rows, digest } = await previewParked(pool, { consumer, countMax: count })
  const ids = rows.map(row => row.id)
  await startRedrive(pool, { requestId: consumer, consumer, ids, digest, perSecond: null, because: 'bench' })
  await runRedrive(pool, consumer, { pause })
  await applied(pool, count)
  const seconds = (performance.now() - began) / 1000
  await running.drain()
  return count / seconds
}

export async function measureParked(count: number): Promise<ParkedRates> {
  const database = await createDatabase()
  const pool = createPool(database.url)
  try {
    await migrate(pool)
    await pool.query('create table total (sum bigint, n bigint)')
    const [few, many] = [1_000, 100_000]
    const looks = await measureLooks(pool, [few, many])
    const of = (what: string, parked: number) =>
      looks.find(one => one.what === what && one.parked === parked)!.ms
    const live = await measureLive(pool, database.url, count)
    const redrive = await measureRedrive(pool, database.url, count)
    const grows = ['list', 'group', 'preview'].map(what => ({ what, ratio: of(what, many) / of(what, few) }))
    return { looks, grows, live, redrive }
  } finally {
    await pool.end()
    await database.drop()
  }
}
