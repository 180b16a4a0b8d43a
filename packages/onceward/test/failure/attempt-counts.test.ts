import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { park, quarantine, reject, retryAfter } from 'onceward'
import { skipWithout } from '../services/services.ts'
import { PostgresRig, type RowContext } from '../store/postgres-rig.ts'

const flaky = (times: number, then: (context: RowContext) => unknown) => {
  let tries = 0
  return async (context: RowContext) => {
    if (++tries <= times) throw Object.assign(new Error('flaky'), { code: `E${tries}` })
    return then(context) as undefined
  }
}
const fails = (code: string) => () => {
  throw Object.assign(new Error(code), { code })
}

/** How a message ends after two failed attempts: state, class, true number of tries. */
const ends: readonly [
  what: string,
  then: (context: RowContext) => unknown,
  state: string,
  failureClass: string,
  attempts: number,
][] = [
  ['a park verdict', () => park('no'), 'parked', 'verdict', 3],
  ['a reject verdict', () => reject('no'), 'dead', 'verdict', 3],
  ['a quarantine verdict', () => quarantine('no'), 'quarantined', 'verdict', 3],
  ['a thrown validation error', fails('22P02'), 'dead', 'validation', 3],
  ['a thrown conflict', fails('23505'), 'parked', 'business conflict', 3],
  ['a thrown corruption', fails('effect_conflict'), 'quarantined', 'corruption', 3],
  ['a retry verdict without end', () => retryAfter(1), 'parked', 'retry', 5],
  ['failures that differ', flakyForEver(), 'parked', 'unclassified', 5],
]

function flakyForEver() {
  let tries = 0
  return () => fails(`F${++tries}`)()
}

describe('the attempts of a message that was set aside', await skipWithout('postgres'), () => {
  let rig: PostgresRig
  before(async () => {
    rig = await PostgresRig.open()
  })
  after(() => rig.close())

  const quick = { attemptsMax: 5, delayMs: 1, delayMaxMs: 1 }
  const copies = async (id: string) =>
    (await rig.pool.query('select headers from onceward.outbox where message_id = $1', [id])).rows.map(
      ({ headers }) => headers as Record<string, string>,
    )

  for (const [what, then, state, failureClass, attempts] of ends)
    test(`are its actual attempts after ${what}, on the row and on the copy`, async () => {
      const id = what.replaceAll(' ', '-')
      const { name } = await rig.consume([id], flaky(2, then), {
        failure: { ...quick, deadLetter: { to: 'letters', owner: 'second-line' } },
        identity: { id: m => m.id, correlationId: () => 'c-1', schemaVersion: () => '7' },
      })
      const sql = `select state::text, failure_class, attempts,
          (select count(*)::integer from onceward.attempt a where a.consumer_id = h.consumer_id and a.message_id = h.message_id) as counted
        from onceward.held h where message_id = $1`
      const { rows } = await rig.pool.query(sql, [id])
      assert.deepEqual(rows, [{ state, failure_class: failureClass, attempts, counted: attempts }])
      const exhausted = attempts === 5
      const [copy, ...more] = await copies(id)
      assert.equal(more.length, 0)
      if (state === 'parked' && !exhausted) return assert.equal(copy, undefined)
      assert.equal(copy!['onceward-attempts'], String(attempts))
      assert.equal(copy!['onceward-class'], failureClass)
      const isVerdict = ['verdict', 'retry'].includes(failureClass)
      assert.equal(copy!['onceward-exception'], isVerdict ? undefined : 'Error')
      assert.equal(copy!['onceward-owner'], 'second-line')
      assert.equal(copy!['onceward-correlation-id'], 'c-1')
      assert.equal(copy!['onceward-schema-version'], '7')
      assert.equal(copy!['onceward-consumer'], `${name}/1`)
      assert.match(copy!['onceward-replay']!, /^onceward parked redrive \d+ --consumer /)
      const [first, last] = ['first', 'last'].map(which => Date.parse(copy![`onceward-${which}-failure`]!))
      assert.ok(first! <= last! && Date.now() - first! < 600_000)
      const { rows: attempted } = await rig.pool.query(
        'select extract(epoch from min(at))::float8 * 1000 as first from onceward.attempt where message_id = $1',
        [id],
      )
      assert.equal(first, Math.floor(attempted[0].first))
    })

  test('are one for a message that the schema refuses', async () => {
    await rig.consume(['refused'], async () => {}, {
      message: {
        schema: {
          '~standard': { version: 1, vendor: 'tests', validate: () => ({ issues: [{ message: 'no' }] }) },
        },
      },
    })
    const { rows } = await rig.pool.query(
      `select state::text, attempts from onceward.held where message_id = 'refused'`,
    )
    assert.deepEqual(rows, [{ state: 'dead', attempts: 1 }])
  })

  test('end it dead-lettered where the contract says so', async () => {
    const { name } = await rig.consume(['dead'], async () => fails('E')(), {
      failure: { ...quick, exhausted: 'dead-lettered' },
    })
    assert.deepEqual(
      (await rig.held(name)).map(row => [row.state, row.code, row.attempts]),
      [['dead', 'E', 5]],
    )
  })

  test('a business conflict that counts as success leaves no row, with the reason', async () => {
    const ids = ['twice', 'once']
    await rig.pool.query(`create table taken as select 't' as id`)
    await rig.pool.query('alter table taken add primary key (id)')
    const { name, outcomes, unsettled } = await rig.consume(
      ids,
      async ({ message, tx }) => {
        await tx.query('insert into written values ($1)', [message.id])
        if (message.id === 'twice') await tx.query(`insert into taken values ('t')`)
      },
      { failure: { policies: { 'business conflict': { terminal: 'ignored' } } } },
    )
    assert.deepEqual({ ...outcomes }, { applied: 1, ignored: 1 })
    assert.equal(unsettled, 0)
    assert.deepEqual(await rig.markers(name), ['once applied', 'twice ignored'])
    assert.deepEqual(await rig.written(), ['once'])
    assert.deepEqual(await rig.held(name), [])
    const { rows } = await rig.pool.query(`select reason from onceward.inbox where message_id = 'twice'`)
    assert.match(rows[0]?.reason ?? '', /23505: business conflict, which the contract takes for a success/)
  })
})
