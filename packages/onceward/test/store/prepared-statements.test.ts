import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { describe, test } from 'node:test'
import type { SqlTransaction } from 'onceward'
import { createPool, createPostgresStore, migrate, type PostgresStoreOptions } from 'onceward/postgres'
import { createDatabase, ensurePgbouncer, skipWithout } from '../services/services.ts'
import { PostgresRig, write } from './postgres-rig.ts'

const facts = {
  name: 'prepared',
  generation: 1,
  owner: 'tests',
  risk: 'low value',
  mode: 'live',
  handlerVersion: '1',
  instance: 'test',
  handlerTimeoutMs: 30_000,
  deliveriesMax: 100,
  dedup: 'checkpoint' as const,
  deadLetterTo: null,
}
type Prepare = NonNullable<PostgresStoreOptions['prepare']>

/** One connection, so that a transaction finds what the one before left on it. */
async function openStore(prepare: Prepare = 'auto', through?: (url: string) => Promise<string>) {
  const database = await createDatabase()
  const direct = createPool(database.url, { max: 1 })
  await migrate(direct)
  await direct.query('create table written (id text, n integer, at timestamp)')
  const pool = createPool(through === undefined ? database.url : await through(database.url), { max: 1 })
  const store = createPostgresStore({ pool, prepare })
  const enrolment = await store.enroll(facts)
  return {
    pool,
    direct,
    /** In one transaction, as one handler of several. */
    handle: (work: (tx: SqlTransaction) => Promise<unknown>) =>
      store.transaction(enrolment, async session => {
        const handlerTx = session.handlerTransaction(true)
        await work(handlerTx.sql!)
        assert.equal(handlerTx.failure, undefined)
      }),
    diagnose: store.diagnose,
    async [Symbol.asyncDispose]() {
      await Promise.all([pool.end(), direct.end()])
      await database.drop()
    },
  }
}

const names = 'select name, statement from pg_prepared_statements order by name'
const insert = 'insert into written (id) values ($1)'
const digestName = (text: string) => `onceward_${hash('sha256', text, 'base64url')}`
const repeat = async (tx: SqlTransaction, texts: readonly string[], times: number) => {
  for (let time = 0; time < times; time++) await Promise.all(texts.map(text => tx.query(text, ['x'])))
}
let asked = 0
/** Another text each time: a repeated one would count itself. */
const preparedOn = async (tx: SqlTransaction) =>
  (await tx.query<{ name: string; statement: string }>(`${names} -- ${++asked}`)).rows

describe('statements that handlers repeat', await skipWithout('postgres'), () => {
  test('are prepared under the digest of their text, and end with the transaction', async () => {
    await using store = await openStore()
    await store.handle(async tx => {
      await repeat(tx, [insert], 1)
      assert.deepEqual(await preparedOn(tx), [], 'the first use has no name')
      await repeat(tx, [insert], 100)
      assert.deepEqual(await preparedOn(tx), [{ name: digestName(insert), statement: insert }])
    })
    assert.deepEqual((await store.pool.query(names)).rows, [])
    assert.deepEqual((await store.pool.query('select count(*)::int from written')).rows, [{ count: 101 }])
    const failing = store.handle(async tx => {
      await repeat(tx, [insert], 3)
      throw new Error('rolled back')
    })
    await assert.rejects(failing, /rolled back/)
    assert.deepEqual((await store.pool.query(names)).rows, [])
    assert.deepEqual((await store.pool.query('select count(*)::int from written')).rows, [{ count: 101 }])
  })

  test('are bounded: neither texts that differ, nor long ones, nor more than 64 stay on the server', async () => {
    await using store = await openStore()
    const numbered = (count: number) =>
      Array.from({ length: count }, (_, number) => `${insert} returning ${number}`)
    await store.handle(async tx => {
      await repeat(tx, numbered(500), 1)
      assert.equal((await preparedOn(tx)).length, 0)
      await repeat(tx, [`${insert} /* ${'x'.repeat(20_000)} */`], 5)
      assert.equal((await preparedOn(tx)).length, 0)
      await repeat(tx, numbered(200), 3)
      assert.equal((await preparedOn(tx)).length, 64)
    })
    assert.deepEqual((await store.pool.query(names)).rows, [])
    assert.deepEqual((await store.pool.query('select count(*)::int from written')).rows, [{ count: 1105 }])
  })

  test('infer the types of their parameters as unnamed ones do', async () => {
    const text = `update written set n = $1, id = $2 || n, at = $3 where n is not distinct from $4 returning *`
    const texts = [text, `select $1 as a, $2::int + 1 as b, coalesce($3, now()) > now() as c, $4 = 'x' as d`]
    const at = new Date('2026-01-02T03:04:05Z')
    const lists = [
      [null, 7, null, null],
      [2, '8', at, 2],
      [3n, true, '2026-05-05', '3'],
      [null, null, null, null],
      [4, 5, at, 'x'],
      ['not a number', 1, at, 1],
    ]
    const outcomes = async (prepare: Prepare) => {
      await using store = await openStore(prepare)
      const found: unknown[] = []
      for (const sql of texts)
        for (const last of lists) {
          const values = [last, last, last].map(list => list.slice())
          const run = store.handle(async tx => {
            await tx.query(`insert into written (id) values ('a')`)
            for (const list of [...lists.slice(0, 3), ...values]) found.push((await tx.query(sql, list)).rows)
          })
          found.push(await run.then(String, error => `${error.code} ${error.message}`))
        }
      return found
    }
    assert.deepEqual(await outcomes('always'), await outcomes('never'))
  })

  test('follow a change of the schema between two transactions, without a wrong write', async () => {
    await using store = await openStore()
    const text = 'insert into written (at) values ($1)'
    const moment = '2026-01-01T00:00:00+05:00'
    const three = async (tx: SqlTransaction) => {
      for (let n = 0; n < 3; n++) await tx.query(text, [moment])
    }
    await store.handle(three)
    await store.direct.query('truncate written')
    await store.direct.query('alter table written alter column at type timestamptz')
    await store.handle(three)
    const { rows } = await store.direct.query('select distinct at from written')
    assert.deepEqual(rows, [{ at: new Date(moment) }])
  })

  test('follow commands of the handler that change what a text means', async () => {
    await using store = await openStore()
    await store.direct.query('create schema other; create table other.written (id text)')
    await store.handle(async tx => {
      await repeat(tx, [insert], 3)
      await Promise.all([
        tx.query('set local search_path to other'),
        tx.query(insert, ['in other']),
        tx.query('alter table other.written alter column id type integer using null'),
        tx.query(insert, [5]),
        tx.query(insert, [6]),
      ])
    })
    assert.equal((await store.direct.query('select from written')).rowCount, 3)
    assert.equal((await store.direct.query('select from other.written')).rowCount, 3)
  })

  test('leave with COMMIT or ROLLBACK behind them, also if the handler did not await them', async () => {
    await using store = await openStore()
    const failing = store.handle(async tx => {
      await tx.query(insert, ['awaited'])
      for (let n = 0; n < 5; n++) tx.query(insert, ['not awaited']).catch(() => {})
      throw new Error('ended')
    })
    await assert.rejects(failing, /ended/)
    assert.equal((await store.pool.query('select from written')).rowCount, 0)
  })

  test('a value that cannot be written fails its own statement only', async () => {
    await using store = await openStore()
    const hostile = {
      toPostgres() {
        throw new Error('no value')
      },
    }
    const inOne = store.handle(async tx => {
      await repeat(tx, [insert], 2)
      const ends = await Promise.allSettled(
        ['a', hostile, 'b', hostile, 'c'].map(id => tx.query(insert, [id])),
      )
      assert.deepEqual(
        ends.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
      )
      const { rows } = await tx.query(`select string_agg(id, '' order by id) as ids from written`)
      assert.deepEqual(rows, [{ ids: 'abcxx' }])
    })
    await assert.rejects(inOne)
  })

  test('a handler for the whole batch undoes a failed statement by a savepoint, without awaiting', async () => {
    const bad = 'insert into written (id) values ($1::int::text)'
    const rig = await PostgresRig.open()
    let statuses: readonly string[] = []
    await rig.consume(['a', 'b'], undefined as never, {
      handle: undefined as never,
      async handleBatch({ batch, tx }) {
        for (const { message } of batch) await write(tx, message.id)
        await tx.query('savepoint mine')
        const ends = await Promise.allSettled([
          tx.query(bad, ['x']),
          tx.query(bad, ['x']),
          tx.query('rollback to savepoint mine'),
          write(tx, 'after'),
        ])
        statuses = ends.map(({ status }) => status)
      },
    })
    assert.deepEqual(statuses, ['rejected', 'rejected', 'fulfilled', 'fulfilled'])
    await rig.close()
  })
})

describe('a prepared statement that the server cannot use', await skipWithout('postgres'), () => {
  const ids = Array.from({ length: 40 }, (_, number) => `m${String(number).padStart(2, '0')}`)

  async function consumeWith(rig: PostgresRig, breakIt: (text: string) => Promise<unknown>) {
    let broken = false
    const text = 'insert into written (id) select $1 from shape()'
    await rig.pool.query('create table untouched ()')
    await rig.pool.query('create function shape() returns table (a integer) language sql as $$ select 1 $$')
    const { outcomes, name } = await rig.consume(ids, async ({ message, tx }) => {
      await tx.query('select * from shape()')
      await tx.query(text, [message.id])
      if (message.id === 'm20' && !broken) {
        broken = true
        await breakIt(text)
        await tx.query('select from untouched') // the first lock on a table makes the server look for changes
      }
      await tx.query('select * from shape()')
    })
    assert.ok(broken)
    assert.deepEqual(outcomes, { applied: ids.length })
    assert.deepEqual(await rig.written(), ids)
    assert.equal((await rig.pool.query('select from onceward.attempt')).rowCount, 0)
    assert.equal((await rig.held(name)).length, 0)
  }

  test('since its result has other types now: the batch runs again, no attempt is counted', async () => {
    const rig = await PostgresRig.open()
    await consumeWith(rig, async () => {
      await rig.pool.query('drop function shape()')
      await rig.pool.query(`create function shape() returns table (a text) language sql as $$ select 'x' $$`)
    })
    await rig.close()
  })

  test('since it is gone: the batch runs again, no attempt is counted', async () => {
    const rig = await PostgresRig.open()
    await rig.pool.query(
      `create function forget() returns void language plpgsql as $$ begin execute 'deallocate all'; end $$`,
    )
    let forgotten = false
    const { outcomes } = await rig.consume(ids, async ({ message, tx }) => {
      await write(tx, message.id)
      if (message.id === 'm20' && !forgotten) {
        forgotten = true
        await tx.query('select forget()')
      }
      await tx.query('select $1::int', [1])
    })
    assert.deepEqual(outcomes, { applied: ids.length })
    assert.deepEqual(await rig.written(), ids)
    assert.equal((await rig.pool.query('select from onceward.attempt')).rowCount, 0)
    await rig.close()
  })

  test('since the transaction was aborted before: only the message at fault fails', async () => {
    const rig = await PostgresRig.open()
    const { outcomes, name } = await rig.consume(ids, async ({ message, tx }) => {
      if (message.id === 'm05') await tx.query('select 1 / $1::int', [0])
      await write(tx, message.id)
      await tx.query('select $1::text as id', [message.id])
    })
    assert.deepEqual(
      await rig.written(),
      ids.filter(id => id !== 'm05'),
    )
    assert.equal(outcomes.applied, ids.length - 1)
    const held = await rig.held(name)
    assert.deepEqual(
      held.map(({ message_id, code }) => `${message_id} ${code}`),
      ['m05 22012'],
    )
    await rig.close()
  })
})

describe('behind a pooler', await skipWithout('postgres'), () => {
  for (const [prepare, count] of [
    ['auto', 0],
    ['always', 1],
  ] as const)
    test(`statements are ${count === 0 ? 'not prepared' : 'prepared if the option says so'}`, async t => {
      let unavailable: string | null = null
      await using store = await openStore(prepare, async url => {
        const bouncer = await ensurePgbouncer(url)
        if ('url' in bouncer) return bouncer.url
        unavailable = bouncer.unavailable
        return url
      })
      if (unavailable !== null) return t.skip(unavailable)
      for (let round = 0; round < 3; round++)
        await store.handle(async tx => {
          await repeat(tx, [insert], 100)
          assert.equal((await preparedOn(tx)).length, count)
        })
      assert.deepEqual((await store.pool.query(names)).rows, [], 'none is left for other clients')
      assert.equal((await store.direct.query('select from written')).rowCount, 300)
    })
})
