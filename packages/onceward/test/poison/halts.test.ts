import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createPool, createQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { openFolder } from '../runtime/cli-process.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

const attemptsMax = 2

describe(
  'a consumer that halts repeatedly for a cause that concerns every message',
  await skipWithout('postgres'),
  () => {
    let database: Awaited<ReturnType<typeof createDatabase>>
    let pool: ReturnType<typeof createPool>
    let scene: ReturnType<typeof openFolder>

    before(async () => {
      scene = openFolder()
      database = await createDatabase()
      pool = createPool(database.url, { max: 2 })
    })
    after(async () => {
      scene[Symbol.dispose]()
      await pool.end()
      await database.drop()
    })

    const start = (file: string) => scene.start(['run', file], { ONCEWARD_DATABASE_URL: database.url })

    for (const [name, count, more] of [
      ['halts_one', 1, ''],
      ['halts_many', 9, ''],
      ['halts_stored', 2, `inbox: { mode: 'stored', leaseMs: 1000 },`],
    ] as const)
      test(`blames no message: ${name}`, { timeout: 240_000 }, async () => {
        await createQueue(pool, name)
        const ids = Array.from({ length: count }, (_, n) => `m${n}`)
        await publish(
          pool,
          name,
          ids.map(id => ({ body: JSON.stringify({ id }) })),
        )
        const file = scene.consumer(
          name,
          `postgresQueue('${name}', { leaseMs: 1000 })`,
          `await tx.query('insert into ${name}_effect values ($1)', [message.id])`,
          `failure: { attemptsMax: ${attemptsMax} }, ${more}`,
        )
        for (let times = 0; times < attemptsMax + 2; times++) {
          const { code, stderr } = await start(file).ended
          assert.equal(code, 1, stderr)
          assert.match(stderr, /42P01/)
        }
        await pool.query(`create table ${name}_effect (id text primary key)`)
        const running = start(file)
        const applied = async () =>
          (await pool.query(`select id from ${name}_effect order by id`)).rows.map(({ id }) => id)
        const held = async () =>
          (await pool.query(`select h.message_id, h.code from onceward.held h where state <> 'stored'`)).rows
        await until('all are decided', async () => (await applied()).length + (await held()).length === count)
        assert.deepEqual(await held(), [])
        assert.deepEqual(await applied(), ids)
        const { rows: left } = await pool.query(`select message_id, code from onceward.attempt`)
        assert.deepEqual(left, [], 'nothing of it counts against them later')
        running.child.kill('SIGTERM')
        // A worker applies what is stored before the start is over: a stop that comes that early ends with
        // 143.
        assert.ok([0, 143].includes((await running.ended).code ?? -1), running.output.stderr)
      })
  },
)
