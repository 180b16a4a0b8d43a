import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { ConsumerContract, HandlerContext } from 'onceward'
import { skipWithout } from '../services/services.ts'
import { drizzleLibrary, knexLibrary, type Library, libraries } from './libraries.ts'
import { type Effects, type Job, openEffects, startConsumer } from './rig.ts'

const ids = ['a', 'b', 'bad', 'c']
const good = ['a', 'b', 'c']
const available = await skipWithout('postgres')
let database: Effects

before(async () => {
  if (available.skip === undefined) database = await openEffects()
})
beforeEach(async () => {
  if (available.skip === undefined) await database.pool.query('truncate effect')
})
after(() => database?.[Symbol.asyncDispose]())

/** Runs a consumer with this handler until every delivery has ended, and stops it. */
async function consume<Tx>(
  library: Library<Tx>,
  published: readonly string[],
  handle: (context: HandlerContext<Job, Tx>) => Promise<void>,
  changes: Partial<ConsumerContract<Job, Tx>> = {},
) {
  await using consumer = await startConsumer(database.url, library, { handle, ...changes })
  consumer.publish(...published)
  await consumer.settled()
  return consumer
}

for (const library of libraries) {
  describe(`mistakes of a handler with ${library.name} are detected and reported`, available, () => {
    test('a swallowed SQL error commits nothing of its message', async () => {
      const { name } = await consume(library, ids, async ({ message, tx }) => {
        await library.write(tx, message.id)
        if (message.id === 'bad') await library.send(tx, 'select 1 / 0').catch(() => {})
      })
      assert.deepEqual(await database.effects(), good)
      assert.deepEqual(await database.held(name), ['bad parked tx_error_swallowed'])
      assert.deepEqual(
        await database.markers(name),
        good.map(id => `${id} applied`).toSpliced(2, 0, 'bad parked'),
      )
    })

    test('a statement that was not awaited commits nothing of its message', async () => {
      const { name } = await consume(library, ids, async ({ message, tx }) => {
        const sent = library.write(tx, message.id)
        if (message.id !== 'bad') await sent
      })
      assert.deepEqual(await database.effects(), good)
      assert.deepEqual(await database.held(name), ['bad parked tx_not_awaited'])
    })

    test('a write after the handler returned is refused before it is sent', async () => {
      const late = Promise.withResolvers<unknown>()
      const { lines } = await consume(library, ['a'], async ({ message, tx }) => {
        await library.write(tx, message.id)
        setImmediate(() => library.write(tx, 'late').then(late.resolve, late.resolve))
      })
      const error = (await late.promise) as Error & { code?: string }
      assert.match(`${error.message} ${(error.cause as Error)?.message}`, /after it had returned/)
      assert.deepEqual(await database.effects(), ['a'])
      assert.ok(lines.some(line => line.level === 'error' && /statement not sent/.test(line.message)))
    })

    test('a late write of one handler during another is refused', async () => {
      let leaked: unknown
      const refused = Promise.withResolvers<unknown>()
      await consume(
        library,
        ['a', 'b'],
        async ({ message, tx }) => {
          await library.write(tx, message.id)
          if (message.id === 'a') leaked = tx
          else await library.write(leaked, 'late').then(refused.resolve, refused.resolve)
        },
        { batch: { inFlightMax: 1 }, order: 'key', identity: { id: m => m.id, orderKey: () => 'k' } },
      )
      assert.ok((await refused.promise) instanceof Error)
      assert.deepEqual(await database.effects(), ['a', 'b'])
    })

    for (const [how, hang] of Object.entries({
      'in a statement': (tx: unknown) => library.send(tx, 'select pg_sleep(60)'),
      'outside of any': () => new Promise(() => {}),
    })) {
      test(`a handler that holds its transaction too long, ${how}, is rolled back and parked`, async () => {
        const { name } = await consume(
          library,
          ['a', 'bad'],
          async ({ message, tx }) => {
            await library.write(tx, message.id)
            if (message.id === 'bad') await hang(tx)
          },
          { batch: { handlerTimeoutMs: 1_500 }, failure: { attemptsMax: 1 } },
        )
        assert.deepEqual(await database.effects(), ['a'])
        assert.deepEqual(await database.held(name), ['bad parked handler_timeout'])
      })
    }

    for (const statement of [
      'commit',
      'rollback',
      ' /* quietly */ end',
      'select 1; commit',
      `select ';'; commit`,
      'savepoint s',
      'rollback to savepoint s',
    ]) {
      test(`"${statement}" is refused and does not affect other messages`, async () => {
        const { name } = await consume(library, ids, async ({ message, tx }) => {
          await library.write(tx, message.id)
          if (message.id === 'bad') await library.send(tx, statement)
        })
        assert.deepEqual(await database.effects(), good)
        assert.deepEqual(await database.held(name), ['bad parked tx_control'])
      })
    }

    test('a text with semicolons in strings, names, comments and dollar quotes is one command', async () => {
      const { name } = await consume(library, ['a'], async ({ message, tx }) => {
        await library.write(tx, message.id)
        await library.send(tx, `select 'a;b' as "x;y", $q$ ; $q$, E'\\';' /* ; */ -- ;\n;`)
      })
      assert.deepEqual(await database.held(name), [])
      assert.deepEqual(await database.effects(), ['a'])
    })

    for (const [how, statement] of Object.entries({
      'looks like an outage': `do $$ begin raise exception 'odd' using errcode = 'XX000'; end $$`,
      'ends its own session': 'select pg_terminate_backend(pg_backend_pid())',
    })) {
      test(`a message whose failure ${how} is identified and parked, the other messages are applied`, async () => {
        const { name } = await consume(
          library,
          ids,
          async ({ message, tx }) => {
            await library.write(tx, message.id)
            if (message.id === 'bad') await library.send(tx, statement)
          },
          { failure: { attemptsMax: 1 } },
        )
        assert.deepEqual(await database.effects(), good)
        assert.match((await database.held(name))[0]!, /^bad parked/)
      })
    }

    test('a constraint checked only at COMMIT affects the message that violates it, not the consumer', async () => {
      await database.pool.query(`
        drop table if exists child, parent; create table parent (id text primary key);
        create table child (id text references parent deferrable initially deferred);
        insert into parent values ('a'), ('b'), ('c')`)
      const { name, process } = await consume(library, ids, async ({ message, tx }) => {
        await library.send(tx, `insert into child values ('${message.id}')`)
      })
      assert.equal(process.state, 'stopped')
      assert.deepEqual(await database.held(name), ['bad parked 23503'])
      const { rows } = await database.pool.query('select id from child order by id')
      assert.deepEqual(
        rows.map(row => row.id),
        good,
      )
    })

    test('the SQLSTATE of the server decides, not the error of the library', async () => {
      const { name } = await consume(library, ids, async ({ message, tx }) => {
        await library.write(tx, message.id === 'bad' ? 'nul \0' : message.id)
      })
      assert.deepEqual(await database.effects(), good)
      assert.deepEqual(await database.held(name), ['bad dead 22021'])
    })

    test('a missing table halts the consumer and settles nothing', async () => {
      const { process, queue } = await consume(library, ['a'], async ({ tx }) => {
        await library.send(tx, 'select * from nowhere')
      })
      assert.equal(process.state, 'halted')
      assert.equal(queue.unsettled, 1)
    })
  })
}

describe('other operations of a library', available, () => {
  for (const [call, act] of Object.entries<(tx: Parameters<typeof knexLibrary.write>[0]) => unknown>({
    'trx.commit()': tx => tx.commit(),
    'trx.rollback()': tx => tx.rollback(),
    'trx.savepoint()': tx =>
      tx.savepoint(async inner => void (await inner('effect').insert({ key: 'nested' }))),
    'trx.transaction()': tx =>
      tx.transaction(async inner => void (await inner('effect').insert({ key: 'nested' }))),
    'trx.batchInsert()': tx => tx.batchInsert('effect', [{ key: 'nested' }]),
  })) {
    test(`Knex: ${call} is refused`, async () => {
      const { name } = await consume(knexLibrary, ids, async ({ message, tx }) => {
        await knexLibrary.write(tx, message.id)
        if (message.id === 'bad') await act(tx)
      })
      assert.deepEqual(await database.effects(), good)
      assert.deepEqual(await database.held(name), ['bad parked tx_control'])
    })
  }

  test('Drizzle: a nested transaction is a savepoint, and refused where handlers share the transaction', async () => {
    const { name } = await consume(drizzleLibrary, ids, async ({ message, tx }) => {
      await drizzleLibrary.write(tx, message.id)
      if (message.id === 'bad') await tx.transaction(inner => drizzleLibrary.write(inner, 'nested'))
    })
    assert.deepEqual(await database.effects(), good)
    assert.deepEqual(await database.held(name), ['bad parked tx_control'])
  })
})
