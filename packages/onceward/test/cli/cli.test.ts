import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { publishInTransaction } from 'onceward/outbox'
import { createPool, createPostgresStore, createQueue, migrate, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { migrations } from '../../src/drivers/postgres/migrations/index.ts'
import { createEmptyDatabase, skipWithout } from '../services/services.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const source = new URL('../../src/', import.meta.url).href

describe('the command line', await skipWithout('postgres'), () => {
  let folder: string
  let database: Awaited<ReturnType<typeof createEmptyDatabase>>
  let pool: ReturnType<typeof createPool>

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'onceward-cli-'))
    database = await createEmptyDatabase()
    pool = createPool(database.url, { max: 2 })
  })
  after(async () => {
    await pool.end()
    await database.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  const file = (name: string, text: string) => {
    const path = join(folder, name)
    writeFileSync(path, text.replaceAll("'onceward", `'${source}`))
    return path
  }
  const start = (args: string[], env: Record<string, string> = {}) => {
    const child = spawn(process.execPath, ['--conditions=@onceward/source', main, ...args], {
      cwd: folder,
      env: { ...process.env, ONCEWARD_DATABASE_URL: database.url, ...env },
    })
    const output = { stdout: '', stderr: '' }
    child.stdout.on('data', chunk => {
      output.stdout += chunk
    })
    child.stderr.on('data', chunk => {
      output.stderr += chunk
    })
    const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>(resolve =>
      child.once('close', code => resolve({ code, ...output })),
    )
    return { child, output, ended }
  }
  const onceward = (args: string[], env?: Record<string, string>) => start(args, env).ended
  const consumer = (handle: string, name = 'cli_work') =>
    file(
      `${name}.ts`,
      `import { defineConsumer } from 'onceward/index.ts'
import { postgresQueue } from 'onceward/postgres.ts'
export default defineConsumer<{ id: string }>({ name: '${name}', owner: 'tests', risk: 'money', source: postgresQueue('${name}'),
  identity: { id: m => m.id }, async handle({ tx, signal }) { ${handle} } })`,
    )

  test('a database that is unavailable, refused the connection or cannot be named is one error that says where, and no password', async () => {
    const wrong = [
      [
        'postgres://me:hunter2@localhost:1/shop',
        /database at localhost:1\/shop does not answer \(ECONNREFUSED\)/,
      ],
      [
        database.url.replace(/[^/]+$/, 'nowhere'),
        /refused the connection: database "nowhere" does not exist/,
      ],
      ['postgres://me:hun/ter2@localhost/shop', /is not a valid URL\. Check that the port/],
    ] as const
    for (const [url, why] of wrong)
      for (const args of [['status'], ['explain', '--message', 'm'], ['migrate']]) {
        const { code, stderr } = await onceward(args, { ONCEWARD_DATABASE_URL: url })
        assert.equal(code, 1, stderr)
        assert.match(stderr, why)
        assert.match(stderr, /ONCEWARD_DATABASE_URL/)
        assert.doesNotMatch(stderr, /hunter2|ter2/)
      }
  })

  test('a missing file for the address is named, with its variable', async () => {
    const named = await onceward(['status'], {
      ONCEWARD_DATABASE_URL: undefined as never,
      ONCEWARD_DATABASE_URL_FILE: join(folder, 'none'),
    })
    assert.deepEqual(
      [named.code, /URL_FILE cannot be read: ENOENT\. Nothing was started/.test(named.stderr)],
      [1, true],
      named.stderr,
    )
  })

  test('wrong use is one error with exit code 2', async () => {
    for (const args of [
      ['nonsense'],
      ['run'],
      ['run', 'missing.ts'],
      ['run', 'x.ts', '--mode', 'sideways'],
      ['status', '--nope'],
      ['relay'],
      ['relay', '--broker', 'nats'],
      ['run', 'missing.ts', '--drain', '30s'],
      ['relay', '--broker', 'cdc', '--cdc-keep', '1h'],
      ['relay', '--broker', 'cdc', '--drain', ''],
      ['brokers', 'accept', 'Kafka', 'abc', '--because', 'x'],
    ]) {
      const { code, stderr } = await onceward(args)
      assert.equal(code, 2, args.join(' '))
      assert.match(stderr, /^error .*(Nothing|onceward --help)/s, args.join(' '))
      assert.equal(stderr.trim().split('\n').length, 1, stderr)
    }
  })

  test('contract --mermaid draws the state machine a file declares, and starts nothing', async () => {
    const drawn = file(
      'workflow.ts',
      `import { defineConsumer, transition } from 'onceward/index.ts'
import { postgresQueue } from 'onceward/postgres.ts'
export default defineConsumer<{ id: string }>({ name: 'workflow', owner: 'tests', risk: 'regulatory', source: postgresQueue('w'),
  identity: { id: m => m.id }, effect: { apply: transition({
    machine: { initial: 'open', states: ['open', 'closed'], events: { Opened: { from: null, to: 'open' }, 'Closed "well"': { from: 'open', to: 'closed' } } },
    aggregate: { table: 'w', key: 'id', state: 'state' }, facts: 'w_fact', aggregateId: m => m.id, transitionId: m => m.id,
    event: () => 'Opened', actor: () => null, reason: () => null }) } })`,
    )
    const nowhere = { ONCEWARD_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
    const { code, stdout } = await onceward(['contract', drawn, '--mermaid'], nowhere)
    assert.equal(code, 0)
    assert.equal(
      stdout,
      `stateDiagram-v2
  state "open" as s0
  state "closed" as s1
  [*] --> s0 : Opened
  s0 --> s1 : Closed  well
  s1 --> [*]
`,
    )
    const undrawable = await onceward(['contract', consumer('return', 'no_machine'), '--mermaid'], nowhere)
    assert.equal(undrawable.code, 2)
    assert.match(undrawable.stderr, /declares no state machine/)
  })

  test('an unreachable database is one error, as JSON when asked', async () => {
    const { code, stdout, stderr } = await onceward(['migrate', '--json'], {
      ONCEWARD_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    })
    assert.equal(code, 1)
    assert.equal(JSON.parse(stdout).ok, false)
    assert.equal(stderr, '')
  })

  test('a database without the schema is an error that names migrate, which can be repeated', async () => {
    const missing = await onceward(['status'])
    assert.equal(missing.code, 1)
    assert.match(missing.stderr, /onceward migrate/)
    const first = await onceward(['migrate', '--json'])
    const all = { to: migrations.at(-1)!.version, applied: migrations.map(one => one.name) }
    assert.deepEqual(JSON.parse(first.stdout), { ok: true, from: 0, ...all })
    assert.match((await onceward(['migrate'])).stdout, /nothing to do/)
  })

  test('a missing file for a payload is named', async () => {
    const contract = consumer('')
    const fix = ['parked', 'fix', '1', '--consumer', 'cli_work', '--because', 'x', '--contract', contract]
    const { code, stderr } = await onceward([...fix, '--payload', 'none.json'])
    assert.deepEqual(
      [code, /none\.json cannot be read: ENOENT\. Nothing was changed/.test(stderr)],
      [2, true],
    )
  })

  test('a contract with problems names them all and starts nothing', async () => {
    const path = file(
      'bad.ts',
      `export default { name: 'Bad Name', onwer: 'x', risk: 'high', source: {}, retention: { markers: 'soon' }, handle() {} }`,
    )
    const { code, stderr } = await onceward(['run', path])
    assert.equal(code, 2)
    for (const part of ['name', "did you mean 'owner'", 'risk', 'source', 'identity', 'retention'])
      assert.ok(stderr.includes(part), part)
  })

  test('run applies, SIGTERM drains, status shows the result', async () => {
    await migrate(pool)
    await pool.query('create table if not exists cli_effect (id text)')
    await createQueue(pool, 'cli_work')
    await publish(pool, 'cli_work', [{ body: '{"id":"a"}' }, { body: '{"id":"a"}' }, { body: 'broken' }])
    const running = start([
      'run',
      consumer(`await tx.query("insert into cli_effect values ('x')")`),
      '--json',
    ])
    await until('the queue is empty', async () => (await depth('cli_work')) === 0)
    running.child.kill('SIGTERM')
    const { code, stdout } = await running.ended
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(stdout.trim()).outcomes, { applied: 1, duplicate: 1, quarantined: 1 })
    const status = JSON.parse((await onceward(['status', '--json'])).stdout)
    const { name, openRuns, quarantined } = status.consumers.find(
      (one: { name: string }) => one.name === 'cli_work',
    )
    assert.deepEqual({ name, openRuns, quarantined }, { name: 'cli_work', openRuns: 0, quarantined: 1 })
    assert.match((await onceward(['status'])).stdout, /cli_work/)
  })

  test('a second SIGTERM leaves at once; the message stays and is applied by the next run', async () => {
    await createQueue(pool, 'cli_slow')
    await publish(pool, 'cli_slow', [{ body: '{"id":"slow"}' }])
    const stuck = `await tx.query("insert into cli_effect values ('stuck')"); await new Promise(() => {})`
    const running = start(['run', consumer(stuck, 'cli_slow')])
    await until('the handler holds its transaction', async () => {
      const { rows } = await pool.query(
        `select 1 from pg_stat_activity where datname = current_database() and state = 'idle in transaction'
           and query like '%stuck%'`,
      )
      return rows.length > 0
    })
    running.child.kill('SIGTERM')
    await until('the drain has begun', () => running.output.stderr.includes('draining'))
    running.child.kill('SIGTERM')
    await running.ended
    assert.equal(await depth('cli_slow'), 1)
    const { rows } = await pool.query(`select count(*)::int from cli_effect where id = 'stuck'`)
    assert.equal(rows[0].count, 0)
  })

  test('a configuration error halts with exit code 1, settles nothing and says so', async () => {
    await createQueue(pool, 'cli_halt')
    await publish(pool, 'cli_halt', [{ body: '{"id":"h"}' }])
    const { code, stderr } = await onceward([
      'run',
      consumer(`await tx.query('insert into no_such_table values (1)')`, 'cli_halt'),
    ])
    assert.equal(code, 1)
    assert.match(stderr, /nothing is lost/)
    assert.equal(await depth('cli_halt'), 1)
  })

  test('relay carries the outbox of producers without a consumer; status shows it and what is stuck', async () => {
    await migrate(pool)
    await publishInTransaction(pool, { broker: 'postgres', queue: 'cli_out' }, [{ id: 'm1', body: 1 }])
    await publishInTransaction(pool, { broker: 'kafka', topic: 'cli_topic' }, [{ id: 'm2', body: 2 }])
    await pool.query(
      `update onceward.outbox set failures = 3, last_error = 'no topic' where broker = 'kafka'`,
    )
    const running = start(['relay', '--broker', 'postgres'])
    await until('the row is in its queue', async () => {
      const { rows } = await pool.query(`select from onceward.outbox where broker = 'postgres'`)
      return rows.length === 0
    })
    assert.equal(await depth('cli_out'), 1)
    const status = JSON.parse((await onceward(['status', '--json'])).stdout)
    const { oldestSeconds, ...waiting } = status.outbox[0]
    assert.ok(oldestSeconds > 0)
    const expected = {
      broker: 'kafka',
      queue: 'cli_topic',
      waiting: 1,
      failing: 1,
      behind: 0,
      lastError: 'no topic',
    }
    assert.deepEqual(waiting, { ...expected, destination: 'kafka', served: false })
    assert.deepEqual([status.relays[0].destination, status.relays[0].buckets], ['postgres', 32])
    const shown = (await onceward(['status'])).stdout
    assert.match(shown, /cli_topic .* NONE .* no topic/)
    assert.match(shown, /1 messages wait for a destination without a relay: kafka\./)
    running.child.kill('SIGTERM')
    assert.equal((await running.ended).code, 0)
    const missing = await onceward(['relay', '--broker', 'kafka'], { ONCEWARD_KAFKA_BOOTSTRAP: '' })
    assert.equal(missing.code, 1)
    assert.match(missing.stderr, /ONCEWARD_KAFKA_BOOTSTRAP/)
  })

  test('losses lists records that a log no longer had, and accepts one by name and reason, once', async () => {
    const store = createPostgresStore({ pool })
    const facts = { name: 'cli_log', generation: 1, owner: 'tests', risk: 'projection', mode: 'live' }
    const enrolment = await store.enroll({
      ...facts,
      handlerVersion: 'unversioned',
      instance: 'cli test',
      handlerTimeoutMs: 1_000,
      deliveriesMax: 100,
      dedup: 'marker',
      deadLetterTo: null,
    })
    const [taken] = await store.checkpoints!.take(enrolment, ['t/0'])
    const from = { incarnation: 'life', next: '5' }
    await store.checkpoints!.begin(enrolment, 't/0', taken!.epoch, from)
    const loss = {
      partition: 't/0',
      from,
      to: { incarnation: 'life', next: '9' },
      records: 4,
      reason: 'retention',
    }
    await store.checkpoints!.declareLoss(enrolment, loss)
    await store.checkpoints!.declareLoss(enrolment, loss)

    const { losses } = JSON.parse((await onceward(['losses', '--json'])).stdout)
    assert.equal(losses.length, 1)
    const { id, records, state, digest } = losses[0]
    assert.deepEqual({ records, state }, { records: 4, state: 'open' })
    assert.match((await onceward(['status'])).stdout, /1 declared loss:/)
    const accept = (...flags: string[]) =>
      onceward(['losses', 'accept', String(id), '--expect', digest, ...flags])
    for (const flags of [
      [],
      ['--consumer', 'other', '--because', 'x'],
      ['--consumer', 'cli_log', '--because', ' '],
    ]) {
      const { code, stderr } = await accept(...flags)
      assert.equal(code, 2, stderr)
    }
    await store.checkpoints!.take(enrolment, ['t/0'])
    const stale = await accept('--consumer', 'cli_log', '--because', 'rebuilt from the archive')
    assert.equal(stale.code, 2, 'the consumer may have read on since')
    assert.match(stale.stderr, /declares the loss again/)
    await store.checkpoints!.declareLoss(enrolment, loss)
    assert.equal((await accept('--consumer', 'cli_log', '--because', 'rebuilt from the archive')).code, 0)
    assert.equal((await accept('--consumer', 'cli_log', '--because', 'again')).code, 2)
    const [again] = await store.checkpoints!.take(enrolment, ['t/0'])
    assert.deepEqual(again!.resumeAt, loss.to)
    await store.checkpoints!.begin(enrolment, 't/0', again!.epoch, again!.resumeAt!)
    const [last] = await store.checkpoints!.take(enrolment, ['t/0'])
    assert.deepEqual([last!.stored, last!.resumeAt], [loss.to, null])
    assert.match((await onceward(['losses'])).stdout, /resumed/)

    const mistaken = {
      ...loss,
      from: loss.to,
      to: { incarnation: 'life', next: '0' },
      reason: 'the log ends at 0',
    }
    await store.checkpoints!.declareLoss(enrolment, mistaken)
    assert.match((await onceward(['status'])).stdout, /1 declared loss:/)
    await store.checkpoints!.withdrawLoss(enrolment, 't/0', last!.epoch, loss.to, 'its records are there')
    assert.doesNotMatch((await onceward(['status'])).stdout, /declared losses/)
    const listed = await onceward(['losses'])
    assert.match(listed.stdout, /withdrawn .*the log ends at 0; withdrawn: its records are there/)
    const withdrawn = JSON.parse((await onceward(['losses', '--json'])).stdout).losses.at(-1)
    const refused = await onceward([
      'losses',
      'accept',
      String(withdrawn.id),
      '--expect',
      withdrawn.digest,
      '--consumer',
      'cli_log',
      '--because',
      'too late',
    ])
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /was withdrawn \(its records are there\)\. There is nothing to accept/)
  })

  async function depth(queue: string): Promise<number> {
    const { rows } = await pool.query(
      `select count(*)::int from onceward.queue_message join onceward.queue on queue.id = queue_id where name = $1`,
      [queue],
    )
    return rows[0].count
  }

  test('a message that the broker does not take is listed and dropped', async () => {
    await pool.query('delete from onceward.outbox')
    assert.match((await onceward(['outbox'])).stdout, /No messages were refused by their broker/)
    await publishInTransaction(pool, { broker: 'kafka', topic: 't', destination: 'kafka:typo' }, [
      { id: 'refused', key: 'k', body: {} },
      { id: 'waits', key: 'k', body: {} },
    ])
    const { rows } = await pool.query(
      `update onceward.outbox set failures = 2, last_error = 'too large' where message_id = 'refused' returning id`,
    )
    const { id } = rows[0]
    const line = new RegExp(`^${id} +message +kafka:typo +t +refused +k +2 +1 +2 +too large$`, 'm')
    assert.match((await onceward(['outbox'])).stdout, line)
    assert.match((await onceward(['status'])).stdout, /^ +kafka:typo +t +2 +\S+ +NONE +1 +1 +too large$/m)
    const [listed] = JSON.parse((await onceward(['outbox', '--json'])).stdout).stuck
    assert.deepEqual([listed.id, listed.messageId, listed.behind], [id, 'refused', 1])
    const drop = (row: string) =>
      onceward(['outbox', 'drop', row, '--message', 'refused', '--because', 'tests', '--json'])
    assert.equal((await drop('no-number')).code, 2)
    const dropped = JSON.parse((await drop(id)).stdout)
    assert.deepEqual(dropped, { ok: true, kind: 'message', queue: 't', behind: 1 })
    assert.equal((await drop(id)).code, 2)
    await pool.query('delete from onceward.outbox')
  })

  test('--json after a subcommand is honoured', async () => {
    await publishInTransaction(pool, { broker: 'kafka', topic: 't', destination: 'kafka:typo' }, [
      { id: 'm', body: {} },
    ])
    await pool.query(`insert into onceward.destination (name, kind) values ('kafka:right', 'kafka')`)
    for (const [args, answer] of [
      [['brokers', 'accept', 'kafka', 'abc'], { ok: true }],
      [['destinations', 'retire', 'kafka:typo', '--to', 'kafka:right'], { ok: true, moved: 1 }],
    ] as const) {
      const { code, stdout } = await onceward([...args, '--because', 'tests', '--json'])
      assert.equal(code, 0)
      assert.deepEqual(JSON.parse(stdout), answer)
    }
    await pool.query(
      'delete from onceward.outbox; delete from onceward.destination; delete from onceward.broker',
    )
  })
})
