import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPortStore, type SqlPort } from 'onceward/postgres'
import { severalCommands } from '../../src/drivers/postgres/several-commands.ts'

const enrolment = {
  consumerId: 1,
  runId: 1,
  facts: {
    name: 'ported',
    generation: 1,
    owner: 'unit',
    risk: 'low value',
    mode: 'live',
    handlerVersion: '1',
    instance: 'unit',
    dedup: 'marker',
    handlerTimeoutMs: 1_000,
    deliveriesMax: 100,
    deadLetterTo: null,
  },
} as const

/** A library of which only the way its transactions end is played. */
function portThat(ends: (ended: Promise<unknown>) => Promise<unknown>, sent: string[] = []): SqlPort<null> {
  const query = async (text: string) => {
    sent.push(text.trim())
    return { rows: [], rowCount: 0 }
  }
  return {
    dialect: 'postgres',
    hearsReplication: true,
    query,
    transaction: (_isolation, work) => ends(work({ query, handle: () => null })) as never,
  }
}

const failure = new Error('why the work failed')
const failing = async () => {
  throw failure
}

test('a library that rejects with the failure of its ROLLBACK does not hide why the work failed', async () => {
  const store = createPortStore(
    portThat(ended => ended.catch(() => Promise.reject(new Error('rollback failed too')))),
  )
  await assert.rejects(store.transaction(enrolment, failing), error => error === failure)
})

test('a library that resolves after it rolled back does not count as a commit', async () => {
  const store = createPortStore(portThat(ended => ended.catch(() => undefined)))
  await assert.rejects(store.transaction(enrolment, failing), error => error === failure)
})

test('a COMMIT that fails is the error of the transaction', async () => {
  const lost = new Error('Connection terminated unexpectedly')
  const store = createPortStore(portThat(ended => ended.then(() => Promise.reject(lost))))
  await assert.rejects(
    store.transaction(enrolment, async () => 'done'),
    error => error === lost,
  )
  assert.equal(store.diagnose(lost), 'unavailable')
})

test('the settings are the first statement and the proof the last', async () => {
  const sent: string[] = []
  const store = createPortStore(portThat(ended => ended, sent))
  await store.transaction(enrolment, async session => {
    await session.handlerTransaction().sql!.query('select 1')
  })
  assert.match(sent[0]!, /^select set_config\('lock_timeout'/)
  assert.deepEqual(sent.slice(1), ['select 1', `select current_setting('onceward.run')::integer`])
})

test('several commands in one text are distinguished from semicolons that end no command', () => {
  const several = [
    'select 1; commit',
    'select 1;;select 2',
    `select 'a'';'; commit`,
    `select E'a\\''; commit; select 'x'`,
    `select foo$$; commit; select bar$$`,
    'select 1 /* ; */; commit',
    'select 1 -- ;\n; commit',
    `select 'never closed; commit`,
  ]
  const one = [
    'select 1',
    'select 1;',
    'select 1 ;\n ; ',
    `select ';'`,
    `select 'it''s; fine', "odd;name" from t`,
    `select E'\\';'`,
    'do $$ begin perform 1; end $$',
    'do $body$ begin perform $$;$$; end $body$;',
    'select 1 -- ; commit',
    'select /* ; */ 1',
    'select $1::text; ',
  ]
  assert.deepEqual(
    several.filter(text => !severalCommands(text)),
    [],
  )
  assert.deepEqual(one.filter(severalCommands), [])
})
