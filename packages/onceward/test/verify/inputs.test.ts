import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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

const total = payments.reduce((sum, { amount }) => sum + amount, 0)

/** A program that applies a file to the database of the environment, as migration tools do. */
function migration(file: string): string {
  const program = join(folder, 'migrate.mjs')
  writeFileSync(
    program,
    `import { readFileSync } from 'node:fs'
     import pg from '${import.meta.resolve('pg')}'
     const { DATABASE_URL, ONCEWARD_DATABASE_URL } = process.env
     if (DATABASE_URL !== ONCEWARD_DATABASE_URL) throw new Error('two addresses')
     const client = new pg.Client(DATABASE_URL)
     await client.connect()
     await client.query(readFileSync(process.argv[2], 'utf8'))
     await client.end()`,
  )
  return `'${process.execPath}' '${program}' '${file}'`
}

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
  await until('all are parked', async () => {
    const { rows } = await pool.query(`select count(*)::int as n from onceward.held where state = 'parked'`)
    return rows[0].n === payments.length
  })
  await running.drain()
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
      migrate: migration(join(example, 'tables.sql')),
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
  })

  it('a migration command that fails is named with what it said, and nothing is run', async () => {
    const given = { file: consumer, databaseUrl: await postgresUrl(), samples: payments, fault: 'batch' }
    await assert.rejects(
      verifyConsumer({ ...given, migrate: migration(join(folder, 'no such file.sql')) }),
      /The migration command ended with 1: .*ENOENT.*Nothing was run/s,
    )
  })

  it('invariants from a module hold after every run, or are named with the rows that break them', async () => {
    const module = join(folder, 'invariants.ts')
    writeFileSync(
      module,
      `export const noDebt = query => query('select * from balance where total < 0')
       export const allBooked = query => query('select * from balance where total <> $1', [${total}])
       export const unused = 7`,
    )
    const samples = join(folder, 'samples.jsonl')
    writeFileSync(samples, payments.map(one => `${JSON.stringify(one)}\n`).join(''))
    const given = {
      file: consumer,
      databaseUrl: await postgresUrl(),
      schema: schemaFile(),
      samples,
      fault: 'batch',
      shrink: false,
      budgetMs: 600_000,
    }
    const { failures } = await verifyConsumer({ ...given, invariantsFile: module })
    const places = failures.flatMap(({ differences }) => differences.map(({ where }) => where))
    assert.deepEqual(places, ['balance', 'invariant allBooked'])
    assert.match(failures[0]!.repeat, /--invariants .*invariants\.ts/)
    for (const [name, text, says] of [
      ['empty.ts', 'export const none = 1', /exports no function/],
      ['broken.ts', 'export const =', /broken\.ts cannot be loaded/],
    ] as const) {
      writeFileSync(join(folder, name), text)
      await assert.rejects(verifyConsumer({ ...given, invariantsFile: join(folder, name) }), says)
    }
  })
})
