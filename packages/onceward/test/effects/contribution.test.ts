import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, beforeEach, describe, test } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { type Minutes, minutes } from './declared-contracts.ts'
import { DeclaredRig } from './declared-rig.ts'

const minute = 60_000
const epoch = Date.UTC(2026, 0, 1, 8)

/** A fact of a team, `after` minutes after eight o'clock. */
const worked = (
  id: string,
  after: number,
  amount: number | string,
  changes: Partial<Minutes> = {},
): Minutes => ({
  id,
  eventId: id,
  team: 'red',
  at: epoch + after * minute,
  minutes: amount,
  ...changes,
})

describe('a contribution', await skipWithout('postgres'), () => {
  let rig: DeclaredRig
  before(async () => {
    rig = await DeclaredRig.open()
  })
  after(() => rig.close())
  beforeEach(() => rig.clear())

  const windows = async () =>
    (
      await rig.rows(
        'select key, extract(epoch from window_start)::float8 * 1000 as start, count::int, minutes::text from minutes_window order by 1, 2',
      )
    ).map(({ key, start, count, minutes }) => [key, (Number(start) - epoch) / minute, count, minutes])
  const drift = () => minutes().drift((sql, values) => rig.pool.query(sql, values as never) as never)

  test('counts and sums by key and window of event time, in the transaction of the facts', async () => {
    const { outcomes } = await rig.pass(minutes(), [
      worked('a', 0, 5),
      worked('b', 0.99, '2.50'),
      worked('c', 1, 1),
      worked('d', 1, 7, { team: 'blue' }),
    ])
    assert.equal(outcomes.applied, 4)
    assert.deepEqual(await windows(), [
      ['blue', 1, 1, '7'],
      ['red', 0, 2, '7.50'],
      ['red', 1, 1, '1'],
    ])
    assert.deepEqual(await drift(), [])
  })

  test('a corrupted window is recomputed alone, from its facts', async () => {
    await rig.pass(minutes(), [worked('a', 0, 5), worked('b', 1, 2), worked('c', 1, 3), worked('d', 2, 7)])
    await rig.pool.query('update minutes_window set minutes = 99')
    const client = await rig.pool.connect()
    await client.query('begin')
    const time = { from: new Date(epoch + minute), to: new Date(epoch + 2 * minute) }
    await minutes().recompute(client as never, time)
    await client.query('commit')
    client.release()
    assert.deepEqual(await windows(), [
      ['red', 0, 1, '99'],
      ['red', 1, 2, '5'],
      ['red', 2, 1, '99'],
    ])
  })

  test('a fact counts once, under any message id, now or before', async () => {
    const { name } = await rig.pass(minutes(), [worked('a', 0, 5), worked('a', 0, 5, { id: 'other' })])
    assert.deepEqual(await rig.markers(name), { a: 'applied', other: 'duplicate' })
    const later = await rig.pass(minutes(), [worked('a', 0, 5, { id: 'later' }), worked('b', 0, 1)])
    assert.deepEqual(await rig.markers(later.name), { later: 'duplicate', b: 'applied' })
    assert.deepEqual(await windows(), [['red', 0, 2, '6']])
  })

  test('the same event with another value, key or window is a conflict and never counted', async () => {
    const { name } = await rig.pass(minutes(), [
      worked('a', 0, 5),
      worked('a', 0, 6, { id: 'value' }),
      worked('a', 0, 5, { id: 'key', team: 'blue' }),
      worked('a', 3, 5, { id: 'window' }),
    ])
    assert.deepEqual(
      (await rig.held(name)).map(row => [row.message_id, row.state, row.code]),
      ['key', 'value', 'window'].map(id => [id, 'quarantined', 'fact_conflict']),
    )
    assert.deepEqual(await windows(), [['red', 0, 1, '5']])
  })

  describe('of a window that is closed', () => {
    // Windows of a minute, half a minute of tolerance: 1.5 minutes of event time close the first.
    const late = [worked('a', 0.1, 1), worked('b', 1.5, 1), worked('late', 0.2, 9)]

    test('is marked stale and not counted', async () => {
      const { name } = await rig.pass(minutes('stale'), late)
      assert.equal((await rig.markers(name)).late, 'stale')
      assert.deepEqual(await windows(), [
        ['red', 0, 1, '1'],
        ['red', 1, 1, '1'],
      ])
    })

    test('is parked', async () => {
      const { name } = await rig.pass(minutes('park'), late)
      assert.deepEqual(await rig.held(name), [{ message_id: 'late', state: 'parked', code: 'late_fact' }])
    })

    test('is counted in its window', async () => {
      await rig.pass(minutes('accept'), late)
      assert.deepEqual((await windows())[0], ['red', 0, 2, '10'])
    })

    test('is a duplicate when it was counted in time, in any batches', async () => {
      for (const sizeMax of [1, 10]) {
        await rig.clear()
        const again = worked('a', 0.1, 1, { id: 'again' })
        const { name } = await rig.pass(minutes('stale'), [...late, again], {
          sizeMax,
          contract: {
            order: 'key',
            identity: { id: m => (m as Minutes).id, orderKey: m => (m as Minutes).team },
          },
        })
        assert.deepEqual(await rig.markers(name), {
          a: 'applied',
          b: 'applied',
          late: 'stale',
          again: 'duplicate',
        })
      }
    })

    test('within the tolerance, and for another key, it is in time', async () => {
      const { outcomes } = await rig.pass(minutes('stale'), [
        worked('a', 1.49, 1),
        worked('b', 0.1, 1),
        worked('c', 5, 1, { team: 'blue' }),
        worked('d', 0.2, 1),
      ])
      assert.equal(outcomes.applied, 4)
    })
  })

  describe('that corrects another', () => {
    const facts = () =>
      rig.rows('select event_id, sign, reverses, minutes::text from minutes_fact order by event_id, sign')

    test('reverses it and counts in its place, each in its own window; the fact itself stays', async () => {
      await rig.pass(minutes(), [worked('a', 0, 5), worked('b', 0, 1)])
      await rig.pass(minutes(), [worked('c', 2, 3, { corrects: 'a' })])
      assert.deepEqual(await facts(), [
        { event_id: 'a', sign: 1, reverses: null, minutes: '5' },
        { event_id: 'b', sign: 1, reverses: null, minutes: '1' },
        { event_id: 'c', sign: -1, reverses: 'a', minutes: '-5' },
        { event_id: 'c', sign: 1, reverses: null, minutes: '3' },
      ])
      assert.deepEqual(await windows(), [
        ['red', 0, 1, '1'],
        ['red', 2, 1, '3'],
      ])
      assert.deepEqual(await drift(), [])
    })

    test('withdraws it, leaving nothing in its place', async () => {
      await rig.pass(minutes(), [worked('a', 0, 5), worked('w', 0, 0, { corrects: 'a', withdrawn: true })])
      assert.deepEqual(await windows(), [['red', 0, 0, '0']])
      assert.deepEqual(await drift(), [])
      const { name } = await rig.pass(minutes(), [worked('w', 0, 0, { id: 'plain' })])
      assert.equal((await rig.held(name))[0]!.code, 'fact_conflict')
    })

    test('is itself corrected, all in one batch and before the facts they correct', async () => {
      const { outcomes } = await rig.pass(minutes(), [
        worked('e', 0, 7, { corrects: 'd' }),
        worked('d', 0, 6, { corrects: 'a' }),
        worked('a', 0, 5),
      ])
      assert.deepEqual(outcomes, { applied: 3 })
      assert.deepEqual(await windows(), [['red', 0, 1, '7']])
    })

    test('counts once, and is distinguished from a conflict, a second correction and a correction that arrives early', async () => {
      await rig.pass(minutes(), [worked('a', 0, 5), worked('c', 0, 3, { corrects: 'a' })])
      const { name } = await rig.pass(
        minutes(),
        [
          worked('c', 0, 3, { id: 'again', corrects: 'a' }),
          worked('c', 0, 4, { id: 'conflict', corrects: 'a' }),
          worked('d', 0, 4, { id: 'second', corrects: 'a' }),
          worked('f', 0, 4, { id: 'early', corrects: 'nobody' }),
          worked('a', 0, 4, { id: 'plain', corrects: 'c' }),
        ],
        { contract: { failure: { attemptsMax: 2 } } },
      )
      assert.deepEqual(await rig.held(name), [
        { message_id: 'conflict', state: 'quarantined', code: 'fact_conflict' },
        { message_id: 'early', state: 'parked', code: 'corrected_fact_missing' },
        { message_id: 'plain', state: 'quarantined', code: 'fact_conflict' },
        { message_id: 'second', state: 'quarantined', code: 'fact_already_corrected' },
      ])
      assert.equal((await rig.markers(name)).again, 'duplicate')
      assert.deepEqual(await windows(), [['red', 0, 1, '3']])
    })
  })

  test('an invalid number, time or id is set aside without affecting other messages', async () => {
    const bad: Record<string, Partial<Record<keyof Minutes, unknown>>> = {
      number: { minutes: 'five' },
      infinite: { minutes: '1e400' },
      zoneless: { at: '2026-01-01T08:00:00' },
      timeless: { at: null },
      nameless: { eventId: ' ' },
      keyless: { team: '' },
      nul: { team: 'a\0b' },
      listed: { team: ['red'] },
      object: { team: {} },
    }
    const messages = Object.entries(bad).map(([id, changes]) => ({ ...worked(id, 0, 1), ...changes }))
    const { name, outcomes } = await rig.pass(minutes(), [...messages, worked('good', 0, 1)])
    assert.equal(outcomes.applied, 1)
    assert.deepEqual(
      (await rig.held(name)).map(row => [row.message_id, row.code]),
      Object.keys(bad)
        .sort()
        .map(id => [id, 'field_unreadable']),
    )
  })

  test('drift names the row that was changed by hand, and a rebuild restores it from the facts', async () => {
    await rig.pass(minutes(), [worked('a', 0, 5), worked('b', 1, 2)])
    await rig.pool.query('create table rebuilt (like minutes_window including all)')
    const query = ((sql: string, values: never) => rig.pool.query(sql, values)) as never
    await minutes().rebuild(query, 'rebuilt')
    assert.deepEqual(await rig.rows('table rebuilt'), await rig.rows('table minutes_window'))
    assert.deepEqual(await minutes().drift(query, 'rebuilt'), [])
    await rig.pool.query('update minutes_window set minutes = minutes + 1 where minutes = 2')
    const [found, ...more] = await drift()
    assert.deepEqual([found!.key, found!.held!.minutes, found!.counted!.minutes, more], ['red', 3, 2, []])
  })

  test('two processes with the same facts under other message ids count each once', async () => {
    const messages = Array.from({ length: 300 }, (_, n) =>
      worked(`f${n}`, n % 7, 1, { team: `team-${n % 5}` }),
    )
    const corrections = messages
      .slice(0, 40)
      .map(({ eventId, team }, n) => worked(`c${n}`, 1, 2, { team, corrects: eventId }))
    const all = [...messages, ...corrections]
    await rig.fillQueue('both_a', all)
    await rig.fillQueue('both_b', all.map(message => ({ ...message, id: `b-${message.id}` })).reverse())
    const children = ['both_a', 'both_b'].map(name => rig.startProcess(name, 'minutes'))
    await Promise.all(['both_a', 'both_b'].map(name => rig.queueEmpty(name)))
    for (const child of children) {
      child.kill('SIGKILL')
      if (child.signalCode === null) await once(child, 'exit')
    }
    assert.deepEqual(await drift(), [])
    assert.deepEqual(
      await rig.rows('select sum(count)::int as count, sum(minutes)::int as minutes from minutes_window'),
      [{ count: 300, minutes: 340 }],
    )
    assert.deepEqual(await rig.held('both_b'), [])
  })

  for (const point of [
    'batch.received',
    'batch.claimed',
    'batch.applied',
    'batch.concluded',
    'batch.committed',
    'batch.settled',
  ] as const) {
    test(`killed at ${point}, the next process leaves the rows of one clean pass`, async () => {
      const name = `minutes_${point.replace('.', '_')}`
      const messages = Array.from({ length: 10 }, (_, n) => worked(`${n}`, n % 3, n))
      await rig.fillQueue(name, [...messages, worked('fix', 0, 100, { corrects: '9' })])
      assert.equal(await rig.diesAt(name, 'minutes', point), 'SIGKILL')
      await rig.finishQueue(name, 'minutes')
      assert.deepEqual(await windows(), [
        ['red', 0, 4, '109'],
        ['red', 1, 3, '12'],
        ['red', 2, 3, '15'],
      ])
      assert.deepEqual(await drift(), [])
    })
  }
})
