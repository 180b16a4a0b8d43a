import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createPool, createQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { openFolder } from '../runtime/cli-process.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

const count = 2_000

/** With a budget of one attempt and without a brake, each failure would park its message. */
const modes = {
  block: `failure: { attemptsMax: 1 },`,
  block_by_key: `order: 'key',`,
  defer: `failure: { attemptsMax: 2, mode: 'defer' },`,
  defer_by_key: `order: 'key', failure: { mode: 'defer' },`,
  stored: `inbox: { mode: 'stored' }, failure: { attemptsMax: 1 },`,
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
    return (await pool.query(sql, [name])).rows.map(({ id }) => id)
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
    await pool.query(`create table ${name}_effect (id text not null)`)
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
    test(`parks at most a few dozen of 2,000, and all are applied after its repair: ${name}`, {
      timeout: 300_000,
    }, async () => {
      await fill(name)
      const broken = start(write(name, 'missing', more))
      await until('the type is paused', async () => (await open(name)) !== undefined)
      assert.match(await open(name), /^42703 at /)
      const before = tries(broken.output)
      await until('two probes were tried', () => tries(broken.output) >= before + 2)
      broken.child.kill('SIGTERM')
      await broken.ended
      assert.match(broken.output.stderr, /event type paused.* cause="42703 at .* version=missing/)
      assert.ok((await parked(name)).length <= 36, `${(await parked(name)).length} parked`)
      assert.ok((await attempts(name)) <= 36, `${await attempts(name)} attempts counted`)

      const repaired = start(write(name, 'id', more))
      const applied = () => value(`select count(*)::integer as value from ${name}_effect`)
      await until(
        'all are applied or parked',
        async () => (await applied()) + (await parked(name)).length === count,
      )
      assert.equal(await open(name), undefined, 'a probe ended the pause')
      const ids = (await parked(name)).map(String)
      const said = ['--consumer', name, '--because', 'repaired']
      if (ids.length > 0) assert.equal((await cli('parked', 'redrive', ...ids, ...said)).code, 0)
      await until('all are applied', async () => (await applied()) === count)
      assert.equal(await value(`select count(distinct id)::integer as value from ${name}_effect`), count)
      repaired.child.kill('SIGTERM')
      await repaired.ended
    })

  test('continues when an operator says so, audited, and its messages are set aside then', {
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
