import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { SqlTransaction } from 'onceward'
import { createPool, createPostgresStore } from 'onceward/postgres'
import { claimOf, factsOf } from '../../src/testing/conformance/store-bench.ts'
import { userPool } from '../adapters/libraries.ts'
import { oddSettings } from '../services/odd-settings.ts'
import { createDatabase, makeOdd, skipWithout } from '../services/services.ts'

const available = await skipWithout('postgres')

async function openOdd() {
  const cleanup = new AsyncDisposableStack()
  const database = await createDatabase()
  cleanup.defer(() => database.drop())
  await makeOdd(database)
  const pool = createPool(database.url, { max: 2 })
  cleanup.defer(() => pool.end())
  return { pool, url: database.url, cleanup }
}

describe('functions and times do not depend on the settings of a session', available, () => {
  test('every function sets its search path, or was bound at creation', async () => {
    const { pool, cleanup } = await openOdd()
    await using _ = cleanup
    const { rows } = await pool.query(`
      select p.oid::regprocedure::text as name from pg_proc p
      where p.pronamespace = 'onceward'::regnamespace and p.prosqlbody is null
        and not 'search_path=pg_catalog, pg_temp' = any (coalesce(p.proconfig, '{}'))`)
    assert.deepEqual(rows, [])
  })

  test('times are correct, and a handler has the settings of its role', async () => {
    const { pool, url, cleanup } = await openOdd()
    await using _ = cleanup
    const theirs = userPool(url, { max: 1 })
    cleanup.defer(() => theirs.end())
    const { rows } = await pool.query(`select timestamptz '2026-03-04T05:06:07Z' as at`)
    assert.deepEqual(rows[0].at, new Date('2026-03-04T05:06:07Z'))
    for (const store of [createPostgresStore({ pool }), createPostgresStore({ pool: theirs as never })]) {
      const enrolment = await store.enroll(factsOf('settings'))
      const seen = await store.transaction(enrolment, async session => {
        await session.insertMarkers([claimOf('a')])
        const handlerTx = session.handlerTransaction()
        const found = await settingsOf(handlerTx.tx)
        handlerTx.revoke()
        return found
      })
      assert.deepEqual(seen, { ...oddSettings, search_path: 'evil, public' })
    }
  })
})

async function settingsOf(tx: SqlTransaction): Promise<Record<string, string>> {
  const { rows } = await tx.query<{ name: string; setting: string }>(
    `select name, setting from unnest($1::text[]) as name, current_setting(name) as setting`,
    [Object.keys(oddSettings)],
  )
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))
}
