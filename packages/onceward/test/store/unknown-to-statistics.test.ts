import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { defineConsumer, retryAfter, runConsumer, type SqlTransaction } from 'onceward'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { lieInDays } from '../retention/lie-in-days.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

interface Order {
  readonly id: string
  readonly fails: boolean
}

const count = 4_000
const sizeMax = 100
/**
 * Behind the last message of a queue, a subscription reads what it holds again after each settled batch, to
 * find messages that were committed late. A small window keeps these reads small, whatever the batches are:
 * with 2,000 held, 4,400 messages cost 22,300 rows in batches of 100, and 67,500 in batches of 20.
 */
const deliveriesMax = 200

/**
 * Outdated statistics promise a single row for new consumers and queues. A statement that trusts them reads
 * all rows of the consumer, for every batch: half of 4,000 rows, 40 times.
 */
for (const layout of ['in one table', 'beside partitioned ones', 'partitioned by day'] as const)
  describe(`a consumer that is missing in the statistics, ${layout}`, await skipWithout('postgres'), () => {
    let database: Awaited<ReturnType<typeof createDatabase>>
    let pool: ReturnType<typeof createPool>

    before(async () => {
      database = await createDatabase()
      pool = createPool(database.url, { max: 2 })
      await migrate(pool)
      await pool.query('create table effect (id text primary key)')
      if (layout !== 'in one table') await lieInDays(pool)
      if (layout === 'beside partitioned ones')
        await pool.query('drop trigger lie_in_days on onceward.consumer')
      await pool.query(`
      insert into onceward.inbox (consumer_id, run_id, status, message_id, digest)
      select 999, 1, 'applied', 'old-' || n, sha256(n::text::bytea) from generate_series(1, 20000) n`)
      await pool.query(`
      insert into onceward.attempt (consumer_id, run_id, message_id, number, failure_class, code, error)
      select 999, 1, 'old-' || n, 1, 'transient', 'E', '' from generate_series(1, 20000) n`)
      await createQueue(pool, 'yesterday')
      const old = Array.from({ length: 5_000 }, (_, n) => ({ body: { id: `old-${n}` } }))
      await publish(pool, 'yesterday', old)
      await pool.query('analyze onceward.inbox, onceward.attempt, onceward.queue_message')
    })
    after(async () => {
      await pool.end()
      await database.drop()
    })

    for (const mode of ['transactional', 'stored'] as const) {
      it(`reads the rows of its batches, not all its rows (${mode})`, async () => {
        await createQueue(pool, mode)
        const orders: Order[] = Array.from({ length: count }, (_, n) => ({
          id: `o-${n}`,
          fails: n % 50 === 0,
        }))
        const bodies = [...orders, ...orders.slice(0, 400)].map(body => ({ body }))
        await publish(pool, mode, bodies)
        const earlier = await rowsRead()
        const running = await runConsumer(consumerOf(mode), { databaseUrl: database.url })
        await until('all is applied', async () => (await effects(mode)) === count)
        await until('the queue is empty', () => isEmpty(mode))
        await running.drain()
        await until('the counts of its sessions have arrived', async () => (await rowsRead()).ended)
        const read = await rowsRead()
        for (const table of ['inbox', 'attempt', 'queue_message'] as const) {
          const rows = read[table] - earlier[table]
          assert.ok(
            rows < 8 * bodies.length,
            `${rows} rows of ${table} were read for ${bodies.length} messages`,
          )
        }
      })
    }

    function consumerOf(mode: 'transactional' | 'stored') {
      const failed = new Set<string>()
      return defineConsumer<Order, SqlTransaction>({
        name: `unknown_${mode}`,
        owner: 'tests',
        risk: 'low value',
        source: postgresQueue(mode),
        identity: { id: order => order.id },
        inbox: { mode },
        failure: { ...(mode === 'transactional' && { mode: 'defer' }), delayMs: 5, delayMaxMs: 10 },
        batch: { sizeMax, deliveriesMax },
        async handleBatch({ batch, tx }) {
          const again = batch.filter(({ message }) => message.fails && !failed.has(message.id))
          for (const { message } of again) failed.add(message.id)
          const done = batch
            .filter(item => !again.includes(item))
            .map(({ message }) => `${mode} ${message.id}`)
          await tx.query('insert into effect select unnest($1::text[])', [done])
          return new Map(again.map(item => [item, retryAfter(5)]))
        },
      })
    }

    async function effects(mode: string): Promise<number> {
      const { rows } = await pool.query(`select count(*)::int as n from effect where id like $1`, [
        `${mode} %`,
      ])
      return rows[0].n
    }

    async function isEmpty(queue: string): Promise<boolean> {
      const { rows } = await pool.query(
        `select not exists (select from onceward.queue_message where queue_id = q.id) as empty from onceward.queue q where q.name = $1`,
        [queue],
      )
      return rows[0].empty
    }

    /** Rows read per table, by any access path; a session reports its counts when it ends. */
    async function rowsRead() {
      const { rows } = await pool.query(`
      select substring(relname from '^inbox|attempt|queue_message') as relname,
        sum(coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0))::int as read from pg_stat_user_tables
      where schemaname = 'onceward' and relname ~ '^(inbox.*|attempt|queue_message)$' group by 1`)
      const others = await pool.query(
        `select count(*)::int as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
      )
      const read = Object.fromEntries(rows.map(row => [row.relname, row.read]))
      return { ...read, ended: others.rows[0].n <= 1 } as Record<
        'inbox' | 'attempt' | 'queue_message',
        number
      > & {
        ended: boolean
      }
    }
  })
