import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import { openBroker, openStore } from './broker-scene.ts'
import type { DeadLetterOrders } from './dead-letter-child.ts'

/** How a message ends: its state, class, code and reason, and its true number of tries. */
interface End {
  readonly state: string
  readonly class: string
  readonly code: string
  /** Undefined where nothing was thrown. */
  readonly exception?: string
  readonly reason: RegExp
  readonly attempts: number
}

const ends: Readonly<Record<string, End>> = {
  reject: { state: 'dead', class: 'verdict', code: 'reject', reason: /^no such order$/, attempts: 3 },
  invalid: {
    state: 'dead',
    class: 'validation',
    code: '22P02',
    exception: 'OrderError',
    reason: /22P02/,
    attempts: 2,
  },
  refuse: {
    state: 'dead',
    class: 'validation',
    code: 'invalid',
    reason: /refused by the schema/,
    attempts: 1,
  },
  exhaust: {
    state: 'parked',
    class: 'unclassified',
    code: 'E3',
    exception: 'OrderError',
    reason: /E3/,
    attempts: 3,
  },
  repeat: {
    state: 'parked',
    class: 'poison',
    code: 'SAME',
    exception: 'OrderError',
    reason: /3 times in the same way/,
    attempts: 3,
  },
  kill: { state: 'parked', class: 'poison', code: 'process_died', reason: /process crashed/, attempts: 3 },
}

describe('dead-letter copies', await skipWithout('postgres', 'rabbitmq', 'kafka'), () => {
  for (const name of ['rabbitmq', 'kafka'] as const)
    test(`carry why, when and how often, for each way a message ended: ${name}`, {
      timeout: 240_000,
    }, async t => {
      const broker = await openBroker(t, name)
      const { pool, url } = await openStore(t)
      const startedMs = Date.now()
      const sent = Object.keys(ends).map(id => ({
        body: JSON.stringify({ id, do: id }),
        key: `key of ${id}`,
        headers: { correlation: `c-${id}`, version: '7', own: 'kept' },
      }))
      const orders = {
        ...broker.servers,
        declaration: broker.source,
        databaseUrl: url,
        letters: broker.letters,
      }
      const copied = (count: number) => async () => (await broker.copies()).length === count
      // Tries are counted by the process, so it must not die before the others have ended.
      await broker.send(sent.slice(0, -1))
      await restartUntil(t, orders, copied(sent.length - 1))
      await broker.send(sent.slice(-1))
      await restartUntil(t, orders, copied(sent.length))
      const { rows } = await pool.query('select id::text, message_id, attempts, position from onceward.held')
      assert.equal(rows.length, sent.length)
      const copies = await broker.copies()
      for (const { body, key, headers } of sent) {
        const id = JSON.parse(body).id as string
        const copy = copies.find(one => one.body === body)
        assert.ok(copy, `no copy of ${id}`)
        const row = rows.find(one => one.message_id === id)
        const end = ends[id]!
        const at = (suffix: string) => copy.headers[`onceward-${suffix}`]
        assert.equal(row.attempts, end.attempts, `${id}: attempts on the row`)
        assert.equal(at('attempts'), String(end.attempts), `${id}: attempts on the copy`)
        assert.equal(at('state'), end.state, id)
        assert.equal(at('class'), end.class, id)
        assert.equal(at('code'), end.code, id)
        assert.equal(at('exception'), end.exception, id)
        assert.match(at('reason')!, end.reason)
        assert.equal(at('consumer'), 'letters/1')
        assert.equal(at('owner'), 'second-line')
        assert.equal(at('origin'), broker.origin)
        assert.equal(at('held-id'), row.id)
        assert.equal(at('schema-version'), '7')
        assert.equal(at('correlation-id'), `c-${id}`)
        assert.match(at('replay')!, new RegExp(`^onceward parked redrive ${row.id} --consumer letters `))
        assert.equal(copy.headers.own, headers.own, 'headers of the message')
        if (name === 'kafka') {
          assert.equal(at('key'), key)
          assert.match(at('position')!, new RegExp(`^${broker.origin}/[01]@\\d+$`))
          assert.equal(at('position'), row.position)
        }
        const [first, last] = ['first-failure', 'last-failure'].map(one => Date.parse(at(one)!))
        assert.ok(startedMs - 1_000 <= first! && first! <= last! && last! <= Date.now() + 1_000, id)
        if (end.attempts > 1) {
          const { rows: known } = await pool.query(
            'select floor(extract(epoch from min(at)) * 1000)::float8 as first from onceward.attempt where message_id = $1',
            [id],
          )
          assert.equal(first, known[0].first, `${id}: the first failure`)
          assert.ok(first! < last!, `${id}: the last failure is a later one`)
        }
      }
    })
})

/** Starts the process again whenever it has died. */
async function restartUntil(t: TestContext, orders: DeadLetterOrders, done: () => Promise<boolean>) {
  const program = fileURLToPath(new URL('dead-letter-child.ts', import.meta.url))
  let child: ChildProcess | null = null
  const start = () => {
    child = spawn(process.execPath, ['--conditions=@onceward/source', program], {
      env: { ...process.env, DEAD_LETTER_ORDERS: JSON.stringify(orders) },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    return child
  }
  t.after(() => void child?.kill('SIGKILL'))
  let current = start()
  let starts = 1
  await until(
    'every message has ended',
    async () => {
      if (current.exitCode !== null) {
        assert.ok(++starts < 15, 'it still dies')
        current = start()
      }
      return done()
    },
    { deadlineMs: 200_000 },
  )
  const ended = new Promise(resolve => current.once('exit', resolve))
  current.kill('SIGTERM')
  await ended
}
