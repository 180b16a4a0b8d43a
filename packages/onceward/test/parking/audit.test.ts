import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createPool, migrate } from 'onceward/postgres'
import { listAudit, verifyAudit } from '../../src/operations/parking/verify-audit.ts'
import { createDatabase, skipWithout } from '../services/services.ts'
import { refusal } from './people.ts'

describe('the audit', await skipWithout('postgres'), () => {
  let pool: ReturnType<typeof createPool>
  let drop: () => Promise<void>
  before(async () => {
    const database = await createDatabase()
    drop = database.drop
    pool = createPool(database.url)
    await migrate(pool)
  })
  after(async () => {
    await pool.end()
    await drop()
  })

  const enter = (n: number) =>
    pool.query(
      `select onceward.audit_entry('act', 'done', 'c', $1, 'because "é" \n', '{"b": 1.50, "a": [null]}')`,
      [String(n)],
    )
  const what = async (expected?: string) =>
    (await verifyAudit(pool, expected)).problems.map(({ seq, what }) => `${seq} ${what}`)
  const tampered = async (sql: string, problems: readonly string[]) => {
    const client = await pool.connect()
    try {
      await client.query(
        'begin; alter table onceward.audit disable trigger all; alter table onceward.audit_head disable trigger all',
      )
      await client.query(sql)
      const within = { query: client.query.bind(client) } as unknown as typeof pool
      const found = await verifyAudit(within)
      assert.deepEqual(
        found.problems.map(({ seq, what }) => `${seq} ${what}`),
        problems,
        sql,
      )
    } finally {
      await client.query('rollback')
      client.release()
    }
  }

  it('is one chain although many write at once', async () => {
    await Promise.all(Array.from({ length: 40 }, (_, n) => enter(n)))
    const { rows, head, problems } = await verifyAudit(pool)
    assert.deepEqual([rows, problems], [40, []])
    assert.equal((await listAudit(pool, { countMax: 1 }))[0]!.hash, head)
  })

  it('cannot be changed, shortened or truncated, not even by its owner', async () => {
    for (const sql of [
      `update onceward.audit set actor = 'x'`,
      'delete from onceward.audit',
      'truncate onceward.audit',
      'delete from onceward.audit_head',
    ])
      assert.match(await refusal(pool, sql), /^42501 the audit is append-only/)
  })

  it('takes no name, time or hash from the writer', async () => {
    await pool.query(
      `insert into onceward.audit (seq, at, actor, action, outcome, reason, detail, previous, hash)
       values (7, '2001-01-01', 'somebody else', 'forged', 'done', '', '{}', 'x', 'y')`,
    )
    const [row] = await listAudit(pool, { countMax: 1 })
    const { rows } = await pool.query('select session_user as me')
    assert.deepEqual([row!.actor, row!.action, row!.seq], [rows[0].me, 'forged', '41'])
    assert.doesNotMatch(row!.at, /^2001/)
    assert.deepEqual(await what(), [])
  })

  it('shows which row was changed, removed or inserted after all triggers were disabled', async () => {
    await tampered(`update onceward.audit set reason = 'other' where seq = 5`, ['5 changed'])
    await tampered(`update onceward.audit set at = at + interval '1 microsecond' where seq = 6`, [
      '6 changed',
    ])
    await tampered('delete from onceward.audit where seq = 7', ['8 missing'])
    await tampered('delete from onceward.audit where seq = 41', ['41 head'])
    await tampered(
      `update onceward.audit set seq = seq + 1000 where seq > 20; update onceward.audit set seq = seq - 999 where seq > 1000;
       insert into onceward.audit select 21, at, actor, action, outcome, consumer, subject, reason, detail, previous, hash from onceward.audit where seq = 20`,
      ['21 inserted', '21 changed', ...Array.from({ length: 21 }, (_, n) => `${22 + n} changed`), '41 head'],
    )
  })

  it('rewritten from the start is detected by a head that was kept elsewhere', async () => {
    const { head } = await verifyAudit(pool)
    await enter(99)
    assert.deepEqual(await what(head), [])
    assert.deepEqual(await what('f'.repeat(64)), ['42 anchor'])
  })
})
