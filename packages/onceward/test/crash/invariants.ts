import assert from 'node:assert/strict'
import type { createPool } from 'onceward/postgres'
import type { TestBroker } from './brokers.ts'
import type { Gateway } from './gateway.ts'
import { assertNothingSkipped } from './positions.ts'
import { attemptsMax, chargedId, expectedOf, type Memory } from './workload.ts'

type Pool = ReturnType<typeof createPool>

/** True when nothing is left to do: all messages decided, all intents called, all copies carried away. */
export async function isDrained(pool: Pool, memory: Memory): Promise<boolean> {
  const expected = expectedOf(memory)
  const { rows } = await pool.query(`
    select
      (select count(*) from effect)::int as applied,
      (select count(*) from onceward.held where state not in ('stored', 'waiting'))::int as held,
      (select count(*) from onceward.ledger where state <> 'completed')::int as owed,
      (select count(*) from onceward.outbox)::int as waiting`)
  const { applied, held, owed, waiting } = rows[0]
  const heldMax = expected.conflicts + expected.rejected + expected.parked + expected.unreadable
  return applied === expected.charges && held === heldMax && owed === 0 && waiting === 0
}

/** The invariants that must hold after any run, read from the tables, the broker and the gateway's book. */
export async function assertInvariants(
  pool: Pool,
  broker: TestBroker,
  gateway: Gateway,
  memory: Memory,
): Promise<void> {
  const expected = expectedOf(memory)
  const all = async (sql: string) => (await pool.query(sql)).rows

  const effects = await all('select id, times from effect order by id')
  assert.equal(effects.length, expected.charges, 'one effect per charge')
  assert.deepEqual(
    effects.filter(row => row.times !== 1),
    [],
    'no effect happened twice',
  )

  if (memory === 'checkpoint') {
    assert.deepEqual(await all('select message_id from onceward.inbox'), [], 'a position needs no markers')
  } else {
    const orphans = await all(`
      select coalesce(effect.id, message_id) as id, effect.id is null as "markerOnly"
      from effect full join (select message_id from onceward.inbox where status = 'applied') marker on message_id = effect.id
      where effect.id is null or message_id is null`)
    assert.deepEqual(orphans, [], 'no marker without effect, no effect without marker')
  }

  const held = await all(
    'select state::text, code, count(*)::int from onceward.held group by 1, 2 order by 1, 2',
  )
  const allHeld = [
    { state: 'dead', code: 'reject', count: expected.rejected },
    { state: 'parked', code: 'Error', count: expected.parked },
    { state: 'quarantined', code: 'conflict', count: expected.conflicts },
    { state: 'quarantined', code: 'id_missing', count: 2 },
    { state: 'quarantined', code: 'undecodable', count: 1 },
  ]
  assert.deepEqual(
    held,
    allHeld.filter(({ count }) => count > 0),
  )
  const attempts = await all('select max(number)::int as most from onceward.attempt')
  assert.equal(attempts[0]!.most, attemptsMax, 'attempts within the budget')

  const ledger = await all('select effect_key, state::text, attempts from onceward.ledger')
  assert.equal(ledger.length, expected.charges)
  for (const { effect_key: key, state, attempts: calls } of ledger) {
    assert.equal(state, 'completed', `${key} is completed`)
    const seen = gateway.calls.get(key) ?? []
    assert.ok(
      seen.length >= 1 && seen.length <= calls,
      `${key}: ${seen.length} calls within ${calls} attempts`,
    )
    assert.equal(new Set(seen).size, 1, `${key}: the same bytes in every call`)
  }
  assert.equal(gateway.calls.size, expected.charges, 'nothing else was charged')

  const published = await broker.published()
  const charged = effects.map(({ id }) => chargedId(id)).sort()
  assert.deepEqual([...new Set(published)].sort(), charged, 'what was charged is published, and nothing else')
  if (broker.target.broker === 'postgres')
    assert.equal(published.length, charged.length, 'moved inside the database: once')

  if (broker.deadLetter !== null) {
    const copies = await broker.deadLetters()
    const dead = expected.conflicts + expected.rejected + expected.unreadable + expected.parked
    assert.ok(copies.length >= dead, `${copies.length} copies for ${dead} dead letters`)
    assert.equal(new Set(copies).size, dead, 'copies repeat only under their own id')
  }
  assert.equal(await broker.depth(), 0, 'the broker holds nothing back')
  if (broker.log !== null) await assertNothingSkipped(pool, broker.log)
}
