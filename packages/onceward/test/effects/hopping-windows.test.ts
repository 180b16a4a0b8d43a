import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { contribution } from 'onceward'
import { skipWithout } from '../services/services.ts'
import { deeds, type Minutes, minutes, workflow } from './declared-contracts.ts'
import { DeclaredRig } from './declared-rig.ts'

const minute = 60_000

/** Windows of three minutes, one every minute. */
const hopping = (late: 'accept' | 'stale' = 'accept', changes: Parameters<typeof minutes>[1] = {}) =>
  minutes(late, { window: { sizeMs: 3 * minute, everyMs: minute, latenessMs: 0, late }, ...changes })

const answered = (id: string, at: number, amount: number, changes: Partial<Minutes> = {}): Minutes => ({
  id,
  eventId: id,
  team: 't',
  at,
  minutes: amount,
  ...changes,
})

describe('a contribution to hopping windows', await skipWithout('postgres'), () => {
  let rig: DeclaredRig
  before(async () => {
    rig = await DeclaredRig.open()
  })
  after(() => rig.close())
  beforeEach(() => rig.clear())

  const windows = async () =>
    (
      await rig.rows(
        `select (extract(epoch from window_start) / 60)::int as at, count::int, minutes::int from minutes_window order by 1`,
      )
    ).map(row => `${row.at}: ${row.count} ${row.minutes}`)
  const query = (text: string, values?: readonly unknown[]) =>
    rig.pool.query(text, values as unknown[]) as never

  test('counts in every window that contains its time, once however often it arrives', async () => {
    const facts = [answered('a', 10 * minute, 5), answered('b', 11 * minute + 59_999, 7)]
    const again = facts.map(fact => ({ ...fact, id: `again-${fact.id}` }))
    const { outcomes } = await rig.pass(hopping(), [...facts, ...again], { sizeMax: 3 })
    assert.deepEqual(outcomes, { applied: 2, duplicate: 2 })
    assert.deepEqual(await windows(), ['8: 1 5', '9: 2 12', '10: 2 12', '11: 1 7'])
    assert.equal((await rig.rows('select from minutes_fact')).length, 2)
  })

  test('a correction reverses it in all of them', async () => {
    await rig.pass(hopping(), [
      answered('a', 10 * minute, 5),
      answered('b', 12 * minute, 4, { corrects: 'a' }),
    ])
    assert.deepEqual(await windows(), ['8: 0 0', '9: 0 0', '10: 1 4', '11: 1 4', '12: 1 4'])
    await rig.pass(hopping(), [answered('c', 12 * minute, 0, { corrects: 'b', withdrawn: true })])
    assert.deepEqual(await windows(), ['8: 0 0', '9: 0 0', '10: 0 0', '11: 0 0', '12: 0 0'])
  })

  test('its windows are recounted from the facts: drift, rebuild, recompute', async () => {
    const effect = hopping()
    const facts = Array.from({ length: 20 }, (_, n) => answered(`f${n}`, n * 37_000, n))
    await rig.pass(effect, facts)
    const whole = await windows()
    assert.deepEqual(await effect.drift(query), [])
    await rig.pool.query('create table again_window (like minutes_window including all)')
    await effect.rebuild(query, 'again_window')
    assert.deepEqual(await effect.drift(query, 'again_window'), [])
    await rig.pool.query(
      'update minutes_window set minutes = minutes + 1 where window_start > to_timestamp(300)',
    )
    assert.notDeepEqual(await effect.drift(query), [])
    const client = await rig.pool.connect()
    const inTransaction = (text: string, values?: readonly unknown[]) =>
      client.query(text, values as unknown[]) as never
    await client.query('begin')
    await effect.recompute({ query: inTransaction }, { from: new Date(300_000), to: new Date(3_600_000) })
    await client.query('commit')
    client.release()
    assert.deepEqual(await windows(), whole)
    assert.deepEqual(await effect.drift(query), [])
  })

  test('a fact is late when the first of its windows is closed, and counts in all or in none', async () => {
    const { outcomes, results } = await rig.pass(
      hopping('stale'),
      [
        answered('now', 10 * minute - 1, 1),
        answered('late', 9 * minute - 1, 1),
        answered('in time', 9 * minute, 1),
      ],
      { sizeMax: 1, contract: { batch: { sizeMax: 1, inFlightMax: 1 } } },
    )
    assert.deepEqual(outcomes, { applied: 2, stale: 1 })
    assert.deepEqual(results, { late_fact: 1 })
    assert.deepEqual(await windows(), ['7: 2 2', '8: 2 2', '9: 2 2'])
  })

  test('after it, all its windows are known', async () => {
    const seen: (readonly number[])[] = []
    await rig.pass(hopping('accept', { after: ({ result }) => void seen.push(result.windowsMs) }), [
      answered('a', 10 * minute + 1, 5),
    ])
    assert.deepEqual(seen, [[8 * minute, 9 * minute, 10 * minute]])
  })

  test('a step that does not divide the window is refused', () => {
    const wrong = (everyMs: number) =>
      contribution({
        facts: 'f',
        summary: 's',
        window: { sizeMs: 3 * minute, everyMs, latenessMs: 0, late: 'accept' },
        at: () => 0,
        key: () => 'k',
        eventId: () => 'e',
      }).problems({} as never)
    assert.deepEqual(wrong(minute), [])
    for (const everyMs of [7, 4 * minute, 100, 0])
      assert.equal(wrong(everyMs).at(-1)?.place, 'window.everyMs', String(everyMs))
  })

  test('results of transitions, contributions and audits are counted by reason', async () => {
    const step = (id: string, event: string, version: number) => ({
      id,
      transitionId: id,
      caseId: 'a',
      event,
      version,
    })
    const moved = await rig.pass(workflow(), [
      step('1', 'Opened', 1),
      { ...step('1', 'Opened', 1), id: 'again' },
      step('2', 'Teleported', 2),
      { ...step('3', 'Opened', 3), caseId: '' },
    ])
    assert.deepEqual(moved.results, { duplicate_transition: 1, illegal_transition: 1, field_unreadable: 1 })
    const added = await rig.pass(minutes(), [
      answered('a', 1, 1),
      answered('a', 1, 1, { id: 'again' }),
      answered('a', 1, 2, { id: 'other' }),
    ])
    assert.deepEqual(added.results, { duplicate_fact: 1, fact_conflict: 1 })
    const deed = { id: 'a', eventId: 'a', who: 'ann', what: { action: 'opened' } }
    const audited = await rig.pass(deeds(), [
      deed,
      { ...deed, id: 'again' },
      { ...deed, id: 'other', who: 'eve' },
    ])
    assert.deepEqual(audited.results, { duplicate_entry: 1, entry_conflict: 1 })
  })
})
