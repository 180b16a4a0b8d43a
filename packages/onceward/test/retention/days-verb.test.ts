import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createPool, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { partitionConsumer } from '../../src/operations/retention/partition-consumer.ts'
import { createEmptyDatabase, skipWithout } from '../services/services.ts'
import { consumerOf, daysScene } from './days-scene.ts'

const advisoryLocks = `
  select count(*)::int as n from pg_locks
  where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`
const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

describe('onceward retention partition', await skipWithout('postgres'), () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'onceward-partition-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  const run = (url: string, ...args: string[]) =>
    new Promise<{ code: number; stdout: string; stderr: string }>(resolve => {
      execFile(
        process.execPath,
        ['--conditions=@onceward/source', main, 'retention', ...args],
        { env: { ...process.env, ONCEWARD_DATABASE_URL: url } },
        (error, stdout, stderr) =>
          resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
      )
    })
  const contract = (partitions: string, name = 'remembering') => {
    const path = join(folder, `${name}${partitions.length}.ts`)
    writeFileSync(
      path,
      `export default { name: '${name}', owner: 'tests', risk: 'money', source: { kind: 'postgres', queue: 'q' },
        identity: { id: m => m.id, idTime: 'uuidv7' }, handle() {}, retention: { markers: '30d', sourceKeeps: '7d'${partitions} } }`,
    )
    return path
  }
  const daily = `, partitions: 'daily'`

  test('runs dry, requires the name as confirmation, moves, and reports it when repeated', async () => {
    await using scene = await daysScene()
    await scene.write(5, 20)
    const file = contract(daily)
    const dry = await run(scene.url, 'partition', file, '--consumer', 'remembering', '--dry-run', '--json')
    assert.deepEqual(JSON.parse(dry.stdout), {
      ok: true,
      dryRun: true,
      already: false,
      markers: 20,
      othersBytes: 16384,
    })
    const wrong = await run(scene.url, 'partition', file, '--consumer', 'other')
    assert.deepEqual([wrong.code, /exports consumer remembering, not "other"/.test(wrong.stderr)], [2, true])
    const plain = await run(scene.url, 'partition', contract(''), '--consumer', 'remembering')
    assert.match(plain.stderr, /does not set retention\.partitions: 'daily'\. Nothing was changed/)
    const stranger = await run(scene.url, 'partition', contract(daily, 'stranger'), '--consumer', 'stranger')
    assert.match(stranger.stderr, /never ran on this database/)
    assert.deepEqual(await scene.tables(), [], 'one table as before')

    const done = await run(scene.url, 'partition', file, '--consumer', 'remembering')
    assert.match(done.stdout, /are in daily partitions: 20 moved/)
    assert.equal(await scene.left(), 20)
    const again = await run(scene.url, 'partition', file, '--consumer', 'remembering', '--json')
    assert.deepEqual(JSON.parse(again.stdout), { ok: true, already: true, moved: 0 })
    const status = JSON.parse((await run(scene.url, 'status', '--json')).stdout)
    assert.ok(status.tables.find((one: { table: string }) => one.table === 'inbox').bytes > 50_000)
    const plan = JSON.parse((await run(scene.url, 'plan', file, '--json')).stdout)
    assert.equal(plan.planned.find((one: { kind: string }) => one.kind === 'markers').rows, 0)
  })

  test('two at once: one moves, the other is refused', async () => {
    await using scene = await daysScene()
    await scene.write(5, 2_000)
    const ends = await Promise.allSettled([scene.partition(), scene.partition()])
    const told = ends.flatMap(end => (end.status === 'rejected' ? [String(end.reason.message)] : []))
    assert.ok(told.length <= 1)
    for (const text of told) assert.match(text, /Another process is partitioning markers/)
    assert.equal(await scene.left(), 2_000)
  })

  test('is refused during another move, during a pass of the consumer, for ids of another form, and while the markers are locked', async () => {
    await using scene = await daysScene()
    const holder = await scene.pool.connect()
    await holder.query(`begin; select pg_advisory_xact_lock(hashtext('onceward.partition'))`)
    await assert.rejects(scene.partition(), /Another process is partitioning markers/)
    await holder.query('commit; begin')
    await holder.query(`select pg_advisory_xact_lock(x'72657461'::integer, $1)`, [scene.consumerId])
    await assert.rejects(scene.partition(), /removing old rows of consumer remembering\. Nothing was changed/)
    await holder.query('commit')
    await holder.query('begin; lock table onceward.inbox in share mode')
    await assert.rejects(
      scene.partition(),
      /were not moved: nothing was changed\. Another transaction holds a lock on the markers/,
    )
    await holder.query('commit')
    holder.release()
    // The connection of the last try is closed, and the server may not have seen it yet.
    await until('nobody is at it', async () => (await scene.pool.query(advisoryLocks)).rows[0].n === 0)
    await scene.partition()
    await assert.rejects(
      partitionConsumer(scene.pool, consumerOf('ulid') as never),
      /are partitioned by uuidv7 ids, the contract says ulid/,
    )
  })

  test('delays others no longer than its limit', async () => {
    await using scene = await daysScene()
    await scene.write(5, 20_000)
    await assert.rejects(
      partitionConsumer(scene.pool, consumerOf() as never, { holdUpMaxMs: 1 }),
      /Other consumers would have waited longer than 1ms\. Choose a quiet time and raise --hold-up/,
    )
    assert.deepEqual(await scene.tables(), [], 'one table as before')
  })

  test('delays no transaction when its process freezes', async () => {
    await using scene = await daysScene()
    await scene.write(5, 10)
    const reach = (point: string) => {
      if (point === 'days.attached') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000)
    }
    await assert.rejects(partitionConsumer(scene.pool, consumerOf() as never, { holdUpMaxMs: 500, reach }))
    assert.deepEqual(await scene.tables(), [], 'one table as before')
    assert.equal(await scene.left(), 10)
  })

  test('leaves all objects to the owner of the schema', async () => {
    const database = await createEmptyDatabase()
    const admin = createPool(database.url, { max: 2 })
    const name = `test_${randomBytes(5).toString('hex')}`
    await admin.query(`create role ${name} login password '${name}'`)
    await admin.query(
      `do $$ begin execute format('grant create on database %I to ${name}', current_database()); end $$`,
    )
    const url = Object.assign(new URL(database.url), { username: name, password: name })
    const owner = createPool(url.href, { max: 2 })
    try {
      await migrate(owner)
      await owner.query(
        `insert into onceward.consumer (name, generation, owner, risk) values ('remembering', 1, 'tests', 'money')`,
      )
      await partitionConsumer(admin, consumerOf() as never)
      const { rows } = await admin.query(
        `select count(*)::int, array_agg(distinct pg_get_userbyid(relowner)::text) as owners from pg_class where relname ~ '^inbox' and relkind in ('r', 'p')`,
      )
      assert.deepEqual(rows, [{ count: 9, owners: [name] }])
      await owner.query(
        `insert into onceward.inbox (consumer_id, run_id, status, message_id, digest) values (1, 1, 'applied', 'x', '')`,
      )
    } finally {
      await owner.end()
      await admin.query(`drop owned by ${name} cascade; drop role ${name}`)
      await admin.end()
      await database.drop()
    }
  })

  test('many markers of a running consumer are not moved', async () => {
    await using scene = await daysScene()
    await scene.markers('odd-', 100_001, 1)
    const { rows } = await scene.pool.query(
      `insert into onceward.run (consumer_id, instance, handler_version, mode) values ($1, 'host-1', '1', 'live') returning id`,
      [scene.consumerId],
    )
    await assert.rejects(
      scene.partition(),
      /more than 100000 markers, and host-1 runs it: .* Nothing was changed\. Stop it first/,
    )
    await scene.pool.query('update onceward.run set ended_at = now() where id = $1', [rows[0].id])
    assert.deepEqual(await scene.partition(), { already: false, moved: 100_001 })
    assert.equal(await scene.left(), 100_001)
  })

  test('markers inserted during a large move are moved under the final lock', async () => {
    await using scene = await daysScene()
    await scene.write(5, 10)
    const owner = await scene.pool.connect()
    await owner.query('begin')
    await owner.query(`select onceward.build_days($1, 'uuidv7', current_date - 31)`, [scene.consumerId])
    const [id] = await scene.write(4, 1)
    await owner.query('select onceward.lock_inbox()')
    const { rows } = await owner.query('select onceward.attach_days($1)::int as came', [scene.consumerId])
    await owner.query('commit')
    owner.release()
    assert.equal(rows[0].came, 1)
    assert.equal(await scene.left(), 11)
    assert.equal(
      await scene.tableOf(id!),
      `inbox_${scene.consumerId}_rest`,
      'nobody had a marker of that day yet',
    )
  })
})
