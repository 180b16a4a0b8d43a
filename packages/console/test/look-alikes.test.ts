import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createPool, migrate } from 'onceward/postgres'
import { createDatabase, skipWithout } from '../../onceward/test/services/services.ts'
import { maskPayload } from '../src/server/rights/mask-payload.ts'
import { isPersonName } from '../src/server/rights/person-name.ts'

describe('names of people', await skipWithout('postgres'), () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let pool: ReturnType<typeof createPool>
  before(async () => {
    database = await createDatabase()
    pool = createPool(database.url, { max: 1 })
    await migrate(pool)
  })
  after(async () => {
    await pool?.end()
    await database?.drop()
  })

  it('with a character that the database ignores or changes are refused', async () => {
    const { rows } = await pool.query(
      `select code from generate_series(1, 1114109) as code
       where code not between 55296 and 57343 and onceward.visible_text('a' || chr(code) || 'b')
         is distinct from 'a' || chr(code) || 'b'`,
    )
    assert.ok(rows.length > 5_000, `${rows.length} characters`)
    const taken = rows.filter(({ code }) => isPersonName(`a${String.fromCodePoint(code)}b`))
    assert.deepEqual(taken, [])
    assert.ok(!isPersonName('ann  lee'))
  })

  it('of people are accepted', () => {
    for (const name of ['ann', 'Ann Lee', 'José Núñez', 'ann@example.com', '李雷', 'o’neil'])
      assert.ok(isPersonName(name), name)
  })
})

describe('masked payloads', () => {
  const masked = (value: unknown, ...paths: string[]) =>
    JSON.parse(maskPayload(JSON.stringify(value), paths)!)

  it('hide a member in every element of the arrays on its way', () => {
    const order = { id: 7, lines: [{ price: 1 }, { price: 2 }] }
    const hidden = { id: 7, lines: [{ price: '••• (number)' }, { price: '••• (number)' }] }
    assert.deepEqual(masked(order, 'lines.price'), hidden)
    assert.deepEqual(masked(order, 'lines.*.price'), hidden)
    assert.deepEqual(masked([[{ iban: 'DE02', id: 7 }]], 'iban'), [[{ iban: '•••', id: 7 }]])
    assert.deepEqual(masked({ id: 7, lines: [] }, 'lines.price'), { id: 7, lines: [] })
  })

  it('hide every value if a listed member is not where it should be', () => {
    const moved = { customer: { bank: { iban: 'DE02' } }, id: 7 }
    const hidden = { customer: { bank: { iban: '•••' } }, id: '••• (number)' }
    assert.deepEqual(masked(moved, 'customer.iban'), hidden)
    assert.deepEqual(masked(moved, 'id', 'customer.iban'), hidden)
    assert.deepEqual(masked({ lines: [{ price: 1 }, { cost: 2 }] }, 'lines.price'), {
      lines: [{ price: '••• (number)' }, { cost: '••• (number)' }],
    })
  })
})
