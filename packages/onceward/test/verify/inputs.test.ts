import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { defineConsumer, park, runConsumer, type SqlTransaction } from 'onceward'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until, verifyConsumer } from 'onceward/testing'
import { createDatabase, postgresUrl, skipWithout } from '../services/services.ts'
import { type Payment, payments } from './gallery/broken.ts'

const folder = mkdtempSync(join(tmpdir(), 'onceward-verify-inputs-'))
const consumer = join(import.meta.dirname, 'gallery/read-modify-write.ts')

/** As pg_dump --schema-only --no-owner writes it. */
const dump = `
--
-- PostgreSQL database dump
--
\\restrict eZ1u
SET statement_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET row_security = off;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.balance (
    account text NOT NULL,
    total bigint NOT NULL
);
ALTER TABLE ONLY public.balance
    ADD CONSTRAINT balance_pkey PRIMARY KEY (account);
INSERT INTO public.balance VALUES ('a', 0);
\\unrestrict eZ1u
`

function schemaFile(): string {
  const path = join(folder, 'dump.sql')
  writeFileSync(path, dump)
  return path
}

/** A database in which the messages of the consumer are parked. */
async function databaseWithParked(t: TestContext): Promise<string> {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 2 })
  t.after(async () => {
    await pool.end()
    await database.drop()
  })
  await migrate(pool)
  await createQueue(pool, 'gallery')
  const parking = defineConsumer<Payment, SqlTransaction>({
    name: 'read_write',
    owner: 'gallery',
    risk: 'low value',
    source: postgresQueue('gallery'),
    identity: { id: m => m.id },
    handle: () => park('looked at first', 'look'),
  })
  await publish(
    pool,
    'gallery',
    payments.map(one => ({ body: JSON.stringify(one) })),
  )
  const running = await runConsumer(parking, { databaseUrl: database.url })
  t.after(() => running.drain())
  await until('all are parked', async () => {
    const { rows } = await pool.query(`select count(*)::int as n from onceward.held where state = 'parked'`)
    return rows[0].n === payments.length
  })
  return database.url
}

describe('what verify is given', await skipWithout('postgres'), () => {
  after(() => rmSync(folder, { recursive: true, force: true }))

  it('messages that a database holds, and tables from a dump without data', async t => {
    const report = await verifyConsumer({
      file: consumer,
      databaseUrl: await postgresUrl(),
      capturedFrom: await databaseWithParked(t),
      schema: schemaFile(),
      only: ['batch'],
      shrink: false,
      budgetMs: 600_000,
    })
    assert.equal(report.messages, payments.length)
    assert.match(report.notes.join('\n'), /3 messages are those that the database holds/)
    const [failure] = report.failures
    assert.match(failure!.what, /without a lock/)
    assert.match(
      failure!.repeat,
      /read-modify-write\.ts --captured --schema .*dump\.sql --seed 1 --fault batch/,
    )
  })

  it('messages from the schema of the contract, and an embedded server that really restarts', async t => {
    const before = process.cwd()
    // Always the same folder: its server is made once.
    const here = join(tmpdir(), 'onceward-verify-embedded')
    mkdirSync(here, { recursive: true })
    process.chdir(here)
    t.after(() => process.chdir(before))
    const example = join(import.meta.dirname, '../../../../examples/01-payment-capture')
    const report = await verifyConsumer({
      file: join(example, 'payment-capture.ts'),
      migrate: `cp ${join(example, 'tables.sql')} ${join(folder, 'migrated.sql')}`,
      schema: join(example, 'tables.sql'),
      prepare: async pool =>
        void (await pool.query(
          `insert into merchant select 'merchantId-' || n from generate_series(1, 3) n`,
        )),
      fault: 'restart:2',
      budgetMs: 600_000,
    })
    assert.deepEqual(report.failures, [])
    assert.equal(report.messages, 8)
    assert.match(report.notes.join('\n'), /8 messages were generated from the schema/)
    const restart = report.classes.find(one => one.class === 'restart')!
    assert.deepEqual([restart.survived, restart.of, restart.note], [1, 1, ''])
    assert.match(readFileSync(join(folder, 'migrated.sql'), 'utf8'), /create table/)
  })
})
