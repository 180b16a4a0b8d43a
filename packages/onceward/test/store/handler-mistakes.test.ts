import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { PostgresRig, type RowContext, write } from './postgres-rig.ts'

const ids = ['a', 'b', 'bad', 'c']
const good = ['a', 'b', 'c']

describe(
  'mistakes of a handler on PostgreSQL are detected and reported',
  await skipWithout('postgres'),
  () => {
    let rig: PostgresRig
    before(async () => {
      rig = await PostgresRig.open()
    })
    beforeEach(() => rig.reset())
    after(() => rig.close())

    test('a swallowed SQL error commits nothing and is parked with the remedy', async () => {
      const { name, unsettled } = await rig.consume(ids, async ({ message, tx }) => {
        await write(tx, message.id)
        if (message.id === 'bad') await tx.query('select 1 / 0').catch(() => {})
      })
      assert.deepEqual(await rig.written(), good)
      assert.equal(unsettled, 0)
      const [row] = await rig.held(name)
      assert.deepEqual([row!.message_id, row!.state, row!.code], ['bad', 'parked', 'tx_error_swallowed'])
      assert.match(row!.error, /rethrow the error/)
    })

    test('a statement that was not awaited commits nothing and is parked with the remedy', async () => {
      const { name } = await rig.consume(ids, async ({ message, tx }) => {
        const sent = write(tx, message.id)
        if (message.id !== 'bad') await sent
      })
      assert.deepEqual(await rig.written(), good)
      const [row] = await rig.held(name)
      assert.deepEqual([row!.message_id, row!.state, row!.code], ['bad', 'parked', 'tx_not_awaited'])
      assert.match(row!.error, /await every tx\.query/)
    })

    test('a write after the handler returned is refused before it is sent', async () => {
      const late = Promise.withResolvers<unknown>()
      await rig.consume(['a'], async ({ message, tx }) => {
        await write(tx, message.id)
        setImmediate(() => write(tx, 'late').then(late.resolve, late.resolve))
      })
      const error = (await late.promise) as { code: string; message: string }
      assert.equal(error.code, 'tx_closed')
      assert.match(error.message, /after it had returned/)
      assert.deepEqual(await rig.written(), ['a'])
      assert.ok(rig.lines.some(line => line.level === 'error' && /statement not sent/.test(line.message)))
    })

    test('a handler that was aborted before it returned is not blamed for its late statements', async () => {
      const late = Promise.withResolvers<unknown>()
      await rig.consume(
        ['a'],
        async ({ tx, effects, signal }) => {
          await new Promise(resolve => signal.addEventListener('abort', resolve))
          setImmediate(() => {
            const effect = new Promise(() => effects.external('gateway', { key: 'k', body: 1 })).catch(
              error => error,
            )
            const write = tx.query('select 1').catch(error => error)
            void Promise.all([write, effect]).then(late.resolve)
          })
          await late.promise
        },
        {
          batch: { handlerTimeoutMs: 50 },
          failure: { attemptsMax: 1 },
          effect: { external: { gateway: { url: 'https://gateway.invalid/' } } },
        },
      )
      for (const error of (await late.promise) as { code: string; message: string }[]) {
        assert.match(error.code, /^(tx|effect)_closed$/)
        assert.match(error.message, /was aborted.*did not return within 50 ms/)
        assert.doesNotMatch(error.message, /had returned|Await everything/)
      }
      const said = rig.lines.filter(line => /statement not sent|effect not recorded/.test(line.message))
      assert.deepEqual(
        said.map(({ level, message }) => [level, /was aborted before it returned/.test(message)]),
        [
          ['warn', true],
          ['warn', true],
        ],
      )
    })

    test('a late write without a catch does not end the process', async () => {
      const sent = Promise.withResolvers<void>()
      await rig.consume(['a'], async ({ message, tx }) => {
        await write(tx, message.id)
        setImmediate(() => {
          void write(tx, 'late')
          sent.resolve()
        })
      })
      await sent.promise
      await rig.consume(['b'], ({ message, tx }) => write(tx, message.id).then(() => {}))
      assert.deepEqual(await rig.written(), ['a', 'b'])
    })

    for (const [how, hang] of Object.entries({
      'in a statement': ({ tx }: RowContext) => tx.query('select pg_sleep(60)'),
      'outside of any': () => new Promise(() => {}),
    })) {
      test(`a handler that holds its transaction too long, ${how}, is rolled back and parked`, async () => {
        const { name } = await rig.consume(
          ['a', 'bad'],
          async context => {
            await write(context.tx, context.message.id)
            if (context.message.id === 'bad') await hang(context)
          },
          { batch: { handlerTimeoutMs: 1_500 }, failure: { attemptsMax: 1 } },
        )
        assert.deepEqual(await rig.written(), ['a'])
        const [row] = await rig.held(name)
        assert.deepEqual([row!.message_id, row!.state, row!.code], ['bad', 'parked', 'handler_timeout'])
        assert.match(row!.error, /did not return within 1500 ms/)
      })
    }

    for (const statement of ['rollback', 'commit', 'end', 'abort']) {
      test(`a handler that sends ${statement} is never settled as applied without marker and effect`, async () => {
        const { name, outcomes } = await rig.consume(
          ['bad'],
          async ({ message, tx }) => {
            await write(tx, message.id)
            await tx.query(statement)
          },
          { failure: { attemptsMax: 1 } },
        )
        const applied = { outcomes: { applied: 1 }, markers: ['bad applied'], written: ['bad'] }
        const found = { outcomes, markers: await rig.markers(name), written: await rig.written() }
        if (outcomes.applied !== undefined) assert.deepEqual(found, applied)
      })
    }

    test('a handler that sends COMMIT and then fails has written nothing', async () => {
      const { name } = await rig.consume(ids, async ({ message, tx }) => {
        if (message.id === 'bad') await tx.query('commit')
        await write(tx, message.id)
        if (message.id === 'bad') throw new Error('after the commit')
      })
      assert.deepEqual(await rig.written(), good)
      assert.deepEqual(
        (await rig.held(name)).map(row => [row.message_id, row.state]),
        [['bad', 'parked']],
      )
    })

    for (const statement of [
      'select 1; commit',
      ';commit',
      'savepoint s',
      'rollback to savepoint s',
      'release s',
    ]) {
      test(`a handler that hides "${statement}" in its text does not affect other messages`, async () => {
        const { name } = await rig.consume(ids, async ({ message, tx }) => {
          await write(tx, message.id)
          if (message.id === 'bad') await tx.query(statement)
        })
        assert.deepEqual(await rig.written(), good)
        const [row] = await rig.held(name)
        assert.deepEqual([row!.message_id, row!.state, row!.code], ['bad', 'parked', 'tx_control'])
      })
    }

    test('a failing statement that is awaited late, or never, does not end the process', async () => {
      const { name } = await rig.consume(
        ['late', 'never'],
        async ({ message, tx }) => {
          const failing = tx.query('select 1 / 0')
          if (message.id === 'never') return
          await tx.query('select 1').catch(() => {})
          await failing
        },
        { batch: { sizeMax: 1 } },
      )
      const codes = (await rig.held(name)).map(row => [row.message_id, row.code])
      assert.deepEqual(codes.sort(), [
        ['late', '22012'],
        ['never', 'tx_not_awaited'],
      ])
    })

    test('an effect requested after the handler returned is refused and reported', async () => {
      const refused = Promise.withResolvers<unknown>()
      await rig.consume(
        ['a'],
        async ({ effects }) => {
          setImmediate(() => {
            try {
              effects.external('gateway', { key: 'k', body: 1 })
              refused.resolve('accepted')
            } catch (error) {
              refused.resolve((error as { code: string }).code)
            }
          })
        },
        { effect: { external: { gateway: { url: 'https://gateway.invalid/' } } } },
      )
      assert.equal(await refused.promise, 'effect_closed')
    })

    for (const [how, statement] of Object.entries({
      'looks like an outage': `do $$ begin raise exception 'odd' using errcode = 'XX000'; end $$`,
      'ends its own session': 'select pg_terminate_backend(pg_backend_pid())',
      'looks like contention': `do $$ begin raise exception 'odd' using errcode = '40001'; end $$`,
    })) {
      test(`a message whose failure ${how} is identified and parked, the other messages are applied`, async () => {
        const { name } = await rig.consume(
          ids,
          async ({ message, tx }) => {
            await write(tx, message.id)
            if (message.id === 'bad') await tx.query(statement)
          },
          { failure: { attemptsMax: 1 } },
        )
        assert.deepEqual(await rig.written(), good)
        assert.deepEqual(
          (await rig.held(name)).map(row => [row.message_id, row.state]),
          [['bad', 'parked']],
        )
      })
    }

    test('a constraint checked only at COMMIT affects the message that violates it, not the consumer', async () => {
      await rig.pool.query(
        'create table parent (id text primary key); create table child (id text references parent deferrable initially deferred)',
      )
      await rig.pool.query(`insert into parent values ('a'), ('b'), ('c')`)
      const { name, state, unsettled } = await rig.consume(ids, async ({ message, tx }) => {
        await tx.query('insert into child (id) values ($1)', [message.id])
      })
      assert.equal(state, 'stopped')
      assert.equal(unsettled, 0)
      assert.deepEqual(
        (await rig.held(name)).map(row => [row.message_id, row.state, row.code]),
        [['bad', 'parked', '23503']],
      )
      const { rows } = await rig.pool.query('select id from child order by id')
      assert.deepEqual(
        rows.map(row => row.id),
        good,
      )
    })

    test('a handler that names a missing table halts the consumer and settles nothing', async () => {
      const { state, unsettled } = await rig.consume(
        ['a'],
        async ({ tx }) => void (await tx.query('select * from nowhere')),
      )
      assert.equal(state, 'halted')
      assert.equal(unsettled, 1)
      assert.ok(rig.lines.some(line => line.level === 'error' && /42P01/.test(JSON.stringify(line.fields))))
    })

    test('a missing table whose code the contract lists sets its message aside', async () => {
      const { name, state, unsettled } = await rig.consume(
        ids,
        async ({ message, tx }) => {
          if (message.id === 'bad') await tx.query('select * from nowhere')
          await write(tx, message.id)
        },
        { failure: { classes: { '42P01': 'poison' } } },
      )
      assert.deepEqual([state, unsettled], ['stopped', 0])
      assert.deepEqual(await rig.written(), good)
      assert.deepEqual(
        (await rig.held(name)).map(row => [row.message_id, row.state, row.code, row.attempts]),
        [['bad', 'parked', '42P01', 1]],
      )
    })

    test('a missing column is a mistake of its handler: it halts nothing', async () => {
      const { name, state } = await rig.consume(
        ids,
        async ({ message, tx }) => {
          if (message.id === 'bad') await tx.query('select no_such_column from pg_class')
          await write(tx, message.id)
        },
        { failure: { attemptsMax: 2, delayMs: 1 } },
      )
      assert.equal(state, 'stopped')
      assert.deepEqual(await rig.written(), good)
      assert.deepEqual(
        (await rig.held(name)).map(row => [row.message_id, row.state, row.code, row.attempts]),
        [['bad', 'parked', '42703', 1]],
      )
    })

    test('a value that PostgreSQL cannot store dead-letters only its message', async () => {
      const { name } = await rig.consume(ids, async ({ message, tx }) => {
        await write(tx, message.id === 'bad' ? 'nul \0' : message.id)
      })
      assert.deepEqual(await rig.written(), good)
      assert.deepEqual(
        (await rig.held(name)).map(row => [row.message_id, row.state, row.code]),
        [['bad', 'dead', '22021']],
      )
    })
  },
)
