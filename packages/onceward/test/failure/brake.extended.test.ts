import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createPool, createQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { openFolder } from '../runtime/cli-process.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

const count = 2_000

/** Without a brake, each failure would park its message: a missing column is not retried. */
const modes = {
  block: ``,
  block_by_key: `order: 'key',`,
  defer: `failure: { mode: 'defer' },`,
  defer_by_key: `order: 'key', failure: { mode: 'defer' },`,
  stored: `inbox: { mode: 'stored' },`,
} as const

describe('a handler with a missing column', await skipWithout('postgres'), () => {
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

  const value = async (sql: string, values: unknown[] = []) => (await pool.query(sql, values)).rows[0]?.value
  const attempts = (name: string) =>
    value(
      `select count(*)::integer as value from onceward.attempt a join onceward.consumer c on c.id = a.consumer_id
       where c.name = $1`,
      [name],
    )
  const parked = async (name: string): Promise<string[]> => {
    const sql = `select h.id from onceward.held h join onceward.consumer c on c.id = h.consumer_id
      where c.name = $1 and h.state in ('parked', 'dead', 'quarantined') order by h.id`
    return (await pool.query(sql, [name])).rows.map(({ id }) => String(id))
  }
  const open = (name: string) =>
    value(
      `select b.cause as value from onceward.brake b join onceward.consumer c on c.id = b.consumer_id
       where c.name = $1 and b.ended_at is null`,
      [name],
    )

  const write = (name: string, column: string, more: string) => {
    const insert = `await tx.query('insert into ${name}_effect (${column}) values ($1)', [message.id])`
    const identity = `identity: { id: m => m.id${more.includes("'key'") ? ', orderKey: m => m.key' : ''} }`
    const contract = `handlerVersion: '${column}', ${identity}, ${more}`
    return scene.consumer(
      name,
      `postgresQueue('${name}', { keyOrder: ${more.includes("'key'")} })`,
      `console.error('tried'); ${insert}`,
      contract,
    )
  }
  const fill = async (name: string) => {
    await pool.query(`create table ${name}_effect (id text)`)
    await createQueue(pool, name)
    const messages = Array.from({ length: count }, (_, n) => ({
      key: `k${n % 200}`,
      body: JSON.stringify({ id: `m${n}`, key: `k${n % 200}` }),
    }))
    await publish(pool, name, messages)
  }
  const start = (file: string) => scene.start(['run', file], { ONCEWARD_DATABASE_URL: database.url })
  const cli = (...args: string[]) => scene.start(args, { ONCEWARD_DATABASE_URL: database.url }).ended
  const tries = (output: { stderr: string }) => output.stderr.split('tried').length - 1

  for (const [name, more] of Object.entries(modes))
    test(`is paused, also after a kill, and continues when the column is there: ${name}`, {
      timeout: 300_000,
    }, async () => {
      await fill(name)
      const file = write(name, 'missing', more)
      const first = start(file)
      await until('the type is paused', async () => (await open(name)) !== undefined)
      assert.match(await open(name), /^42703 at /)
      await until('it is logged', () =>
        /event type paused.* cause="42703 at .* version=missing/.test(first.output.stderr),
      )
      first.child.kill('SIGKILL')
      await first.ended
      const aside = await parked(name)
      assert.ok(aside.length <= 19, `${aside.length} set aside`)
      const counted = await attempts(name)

      const second = start(file)
      await until('two probes were tried', () => tries(second.output) >= 2)
      assert.equal(await attempts(name), counted, 'probes count no attempt')
      assert.deepEqual(await parked(name), aside, 'nothing more is set aside')
      assert.doesNotMatch(second.output.stderr, /event type paused/)

      await pool.query(`alter table ${name}_effect add column missing text`)
      const applied = () => value(`select count(*)::integer as value from ${name}_effect`)
      await until('the others are applied', async () => (await applied()) + aside.length === count)
      await until('the pause is over', async () => (await open(name)) === undefined)
      const said = ['--consumer', name, '--because', 'repaired']
      if (aside.length > 0) assert.equal((await cli('parked', 'redrive', ...aside, ...said)).code, 0)
      await until('all are applied', async () => (await applied()) === count)
      assert.equal(await value(`select count(distinct missing)::integer as value from ${name}_effect`), count)
      second.child.kill('SIGTERM')
      await second.ended
    })

  test('is released by an operator, with an audit row, and its messages are then set aside', {
    timeout: 300_000,
  }, async () => {
    const name = 'released'
    await fill(name)
    const broken = start(write(name, 'missing', modes.block))
    await until('the type is paused', async () => (await open(name)) !== undefined)
    const listed = JSON.parse((await cli('brakes', '--json')).stdout)
    assert.deepEqual(
      listed.brakes
        .filter((one: { consumer: string }) => one.consumer === name)
        .map(({ consumer, version }: { consumer: string; version: string }) => [consumer, version]),
      [[name, 'missing']],
    )
    const refused = await cli('brakes', 'release', 'other', '--consumer', name, '--because', 'no')
    assert.match(refused.stderr, /has not paused event type "other"/)
    const { code, stderr } = await cli('brakes', 'release', '--consumer', name, '--because', 'they are wrong')
    assert.equal(code, 0, stderr)
    await until('they are set aside', async () => (await parked(name)).length > 100)
    broken.child.kill('SIGTERM')
    await broken.ended
    const { rows } = await pool.query(
      `select action, consumer, reason from onceward.audit where action = 'brakes release' and outcome = 'done'`,
    )
    assert.deepEqual(rows, [{ action: 'brakes release', consumer: name, reason: 'they are wrong' }])
  })
})
