import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createPool, createQueue, migrate, publish } from 'onceward/postgres'
import { type CrashPoint, until } from 'onceward/testing'
import { createDatabase, skipWithout } from '../services/services.ts'
import type { BrakeOrders } from './brake-child.ts'

const count = 200
/** What one process may set aside before it pauses the type: one less than `messagesMin`. */
const asideMax = 19
const program = fileURLToPath(new URL('brake-child.ts', import.meta.url))

describe('processes with a missing column', await skipWithout('postgres'), () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let pool: ReturnType<typeof createPool>
  let folder: string
  const children = new Set<ChildProcess>()

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'onceward-brake-'))
    database = await createDatabase()
    pool = createPool(database.url, { max: 2 })
    await migrate(pool)
  })
  after(async () => {
    for (const child of children) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
    await pool.end()
    await database.drop()
  })

  function start(orders: Omit<BrakeOrders, 'databaseUrl'>) {
    const child = spawn(process.execPath, ['--conditions=@onceward/source', program], {
      env: { ...process.env, BRAKE_ORDERS: JSON.stringify({ ...orders, databaseUrl: database.url }) },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let errors = ''
    child.stderr!.on('data', chunk => {
      errors += chunk
    })
    children.add(child)
    const ended = new Promise<string | null>(resolve =>
      child.once('close', (_, signal) => {
        children.delete(child)
        resolve(signal)
      }),
    )
    const kill = () => {
      child.kill('SIGKILL')
      return ended
    }
    return { ended, kill, errors: () => errors }
  }

  async function dieAt(point: CrashPoint, queue: string, column = 'missing'): Promise<void> {
    const witness = join(folder, `${queue}-${point}-${Math.random()}`)
    const { ended, errors } = start({ queue, column, dieAt: { point, witness } })
    assert.equal(await ended, 'SIGKILL', errors())
    assert.ok(existsSync(witness), `${point} was never reached`)
  }

  async function fill(queue: string): Promise<void> {
    await pool.query(`create table ${queue}_effect (id text)`)
    await createQueue(pool, queue)
    const messages = Array.from({ length: count }, (_, n) => ({ body: { id: `m${n}` } }))
    await publish(pool, queue, messages)
  }

  const value = async (sql: string, values: unknown[] = []) => (await pool.query(sql, values)).rows[0]?.value
  const ofConsumer = (table: string, where: string, queue: string): Promise<number> =>
    value(
      `select count(*)::integer as value from onceward.${table} t join onceward.consumer c on c.id = t.consumer_id
       where c.name = $1 and ${where}`,
      [queue],
    )
  const aside = (queue: string) => ofConsumer('held', "state <> 'stored'", queue)
  const paused = (queue: string) => ofConsumer('brake', 'ended_at is null', queue)
  const applied = (queue: string): Promise<number> =>
    value(`select count(distinct id)::integer as value from ${queue}_effect`)

  /** Every message is applied or set aside, once. A pause ends when its next message is applied. */
  async function complete(queue: string): Promise<void> {
    await until(
      'all are applied or set aside',
      async () => (await applied(queue)) + (await aside(queue)) === count,
    )
    let more = 0
    await until('the pause is over', async () => {
      if ((await paused(queue)) === 0) return true
      await publish(pool, queue, [{ body: { id: `more-${more++}` } }])
      return false
    })
    await until(
      'these are applied too',
      async () => (await applied(queue)) + (await aside(queue)) === count + more,
    )
    assert.equal(await value(`select count(*)::integer as value from ${queue}_effect`), await applied(queue))
  }

  test('that die before a pause is recorded find it again, each within the same bound', {
    timeout: 180_000,
  }, async () => {
    const queue = 'engaging'
    await fill(queue)
    for (let deaths = 1; deaths <= 2; deaths++) {
      await dieAt('brake.engaging', queue)
      assert.equal(await paused(queue), 0)
      assert.ok((await aside(queue)) <= deaths * asideMax, `${await aside(queue)} set aside`)
    }
    const third = start({ queue, column: 'missing' })
    await until('the type is paused', async () => (await paused(queue)) === 1)
    const setAside = await aside(queue)
    assert.ok(setAside <= 3 * asideMax, `${setAside} set aside`)
    await third.kill()
    const repaired = start({ queue, column: 'id' })
    await complete(queue)
    assert.equal(await aside(queue), setAside)
    await repaired.kill()
  })

  test('that die before the end of a pause is recorded leave one that ends at the next start', {
    timeout: 180_000,
  }, async () => {
    const queue = 'ending'
    await fill(queue)
    const broken = start({ queue, column: 'missing' })
    await until('the type is paused', async () => (await paused(queue)) === 1)
    await broken.kill()
    const setAside = await aside(queue)
    await dieAt('brake.ending', queue, 'id')
    assert.equal(await paused(queue), 1)
    const repaired = start({ queue, column: 'id' })
    await complete(queue)
    assert.equal(await aside(queue), setAside)
    await repaired.kill()
  })

  test('set no more aside when a process of a good version beside them ends the pause', {
    timeout: 180_000,
  }, async () => {
    const queue = 'rolling'
    await fill(queue)
    const broken = start({ queue, column: 'missing' })
    await until('the type is paused', async () => (await paused(queue)) === 1)
    const setAside = await aside(queue)
    assert.ok(setAside <= asideMax, `${setAside} set aside`)
    const good = start({ queue, column: 'id' })
    await until(
      'the good one ended the pause, and the other paused again',
      async () => (await ofConsumer('brake', 'true', queue)) >= 2,
    )
    assert.equal(await aside(queue), setAside)
    await broken.kill()
    await complete(queue)
    assert.equal(await aside(queue), setAside)
    await good.kill()
  })
})
