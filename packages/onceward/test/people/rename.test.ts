import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runConsumer } from 'onceward'
import { createPostgresStore, createQueue, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { renameConsumer } from '../../src/operations/server/names.ts'
import { cancelCampaign, finishCampaign, verifyCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { facts, Scene } from '../replay/scene.ts'
import { skipWithout } from '../services/services.ts'

const oldName = 'zebra_intake'
const newName = 'okapi_intake'

/**
 * Where the old name stays, and why. Everything else that holds a consumer's name is called `consumer_name`
 * and moves.
 */
const stays: Record<string, string> = {
  'audit.consumer':
    'the rows of the audit prove each other from the first on, and say what was done under the name of then',
  'audit.subject': 'the same',
  'audit.detail': 'the same',
  'campaign_event.detail': 'what happened to a campaign, written once',
  'ledger.original_consumer_name': 'idempotency keys are derived from the name of the first request',
  'reader.consumer_group':
    'a group of the broker, which the rename does not touch: another consumer that reads as it is refused',
}

/** A consumer with a swapped rebuild, effects in the ledger, a reader and a cancelled campaign. */
async function lived(scene: Scene) {
  const consumer = scene.contract({ name: oldName })
  await scene.write(...facts(5))
  await scene.live(consumer)
  const replay = await scene.replay(consumer)
  const id = await scene.planned(replay, { mode: 'rebuild' })
  await replay.run(id)
  await verifyCampaign(scene.pool, id)
  await replay.swap(id)
  await finishCampaign(scene.pool, id)
  await cancelCampaign(scene.pool, await scene.planned(replay), 'not needed')
  return { consumer, replay }
}
const rename = (scene: Scene, to = newName) => renameConsumer(scene.pool, oldName, to, 'the team was renamed')

describe('a consumer that is renamed', await skipWithout('postgres'), () => {
  test('renames its rows in every table', async t => {
    const scene = await Scene.open(t)
    await lived(scene)
    const columns = await scene.rows<{ table: string; column: string }>(
      `select c.relname as table, a.attname as column from pg_class c join pg_attribute a on a.attrelid = c.oid
       where c.relnamespace = 'onceward'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
         and a.atttypid in ('text'::regtype, 'text[]'::regtype, 'json'::regtype, 'jsonb'::regtype, 'name'::regtype) order by 1, 2`,
    )
    for (const { table, column } of columns.filter(one => one.column.includes('consumer')))
      assert.ok(
        column === 'consumer_name' || `${table}.${column}` in stays,
        `${table}.${column} does not move`,
      )
    const holding = async (name: string) => {
      const found: string[] = []
      for (const { table, column } of columns) {
        const sql = `select from onceward.${table} where ${column}::text like '%' || $1 || '%' limit 1`
        if ((await scene.rows(sql, name)).length > 0) found.push(`${table}.${column}`)
      }
      return found.filter(place => !(place in stays))
    }
    const before = await holding(oldName)
    for (const { table } of columns.filter(one => one.column === 'consumer_name'))
      assert.ok(before.includes(`${table}.consumer_name`), `let this test make a row of ${table}`)
    await rename(scene)
    assert.deepEqual(await holding(oldName), [])
    assert.deepEqual(await holding(newName), before)
  })

  test('keeps the generations of its rebuilds: none of them counts as live', async t => {
    const scene = await Scene.open(t)
    await lived(scene)
    await rename(scene)
    const rebuilt = scene.contract({ name: newName, generation: 2 })
    await assert.rejects(
      runConsumer(rebuilt, { databaseUrl: scene.url, parts: ['consumer'] }),
      /Generation 2 of consumer okapi_intake belongs to rebuild campaign/,
    )
    await scene.live(scene.contract({ name: newName }))
    assert.deepEqual(await scene.rows('select max(times) as most from effect'), [{ most: 1 }])
  })

  test('is renamed only without a run, a lease, a call or an open campaign', async t => {
    const scene = await Scene.open(t)
    const { replay } = await lived(scene)
    const set = (sql: string) => scene.pool.query(sql)
    await set(`update onceward.run set ended_at = null, heartbeat_at = clock_timestamp()`)
    await assert.rejects(rename(scene), /It is running/)
    await set(`update onceward.run set ended_at = clock_timestamp()`)
    await set(
      `update onceward.ledger set state = 'in flight', due_at = clock_timestamp() + interval '1 minute'`,
    )
    await assert.rejects(rename(scene), /worker or dispatcher holds a lease on its work/)
    await set(`update onceward.ledger set due_at = clock_timestamp()`)
    const [{ id: held }] = (await scene.rows(
      `insert into onceward.held (consumer_id, run_id, state, digest, origin, delivery_count, headers, properties, body, lease_until)
       select id, 1, 'stored', '', 'x', 1, '{}', '{}', '', clock_timestamp() + interval '1 minute' from onceward.consumer
       where name = $1 and generation = 1 returning id`,
      oldName,
    )) as [{ id: string }]
    await assert.rejects(rename(scene), /worker or dispatcher holds a lease on its work/)
    await set(`delete from onceward.held where id = ${held}`)
    const open = await scene.planned(replay)
    await assert.rejects(rename(scene), /has open campaigns/)
    await cancelCampaign(scene.pool, open, 'not needed')
    await scene.live(scene.contract({ name: 'other_intake' }))
    await assert.rejects(rename(scene, 'other_intake'), /is already in use/)
    await assert.rejects(renameConsumer(scene.pool, oldName, newName, '\u3000'), /Say why/)
    // What a clock that was a year ahead has left belongs to nobody who lives.
    await set(`update onceward.run set ended_at = null, heartbeat_at = clock_timestamp() + interval '1 year'`)
    await set(`update onceward.ledger set due_at = clock_timestamp() + interval '1 year'`)
    await rename(scene)
    assert.deepEqual(
      await scene.rows(
        `select outcome, reason from onceward.audit where action = 'consumers rename' order by seq desc limit 1`,
      ),
      [{ outcome: 'done', reason: 'the team was renamed' }],
    )
  })

  test('beside a frozen process that resumes: nothing is called again under the old name', async t => {
    const scene = await Scene.open(t)
    await createQueue(scene.pool, 'orders')
    const calls: string[] = []
    const contract = scene.contract({
      name: oldName,
      source: postgresQueue('orders'),
      effect: {
        external: {
          gateway: {
            kind: 'custom',
            policy: 'keyed',
            call: async ({ key }) => {
              calls.push(key)
              return { result: 'completed' }
            },
          },
        },
      },
      async handle({ message, effects }) {
        effects.external('gateway', { key: message.key!, body: message.key })
      },
    })
    const parts = ['consumer', 'dispatcher'] as const
    const frozen = await runConsumer(contract, { databaseUrl: scene.url, parts })
    const send = (id: string, key: string) =>
      publish(scene.pool, 'orders', [{ body: Buffer.from(JSON.stringify({ id, key })) }])
    await send('m1', 'charge 1')
    await until(
      'it is charged',
      async () => (await scene.rows(`select from onceward.ledger where state = 'completed'`)).length === 1,
    )
    await scene.pool.query(
      `with silent as materialized (update onceward.run set heartbeat_at = clock_timestamp() - interval '1 minute') select`,
    )
    await rename(scene)
    await send('m2', 'charge 1')
    await send('m3', 'charge 3')
    await until('it went on', async () => frozen.consumer!.tally.outcomes.applied === 3)
    await frozen.drain()
    const renamed = await runConsumer(
      { ...contract, name: newName },
      { databaseUrl: scene.url, parts: ['dispatcher'] },
    )
    await until('all is called', () => calls.includes('charge 3'))
    await renamed.drain()
    assert.deepEqual(calls, ['charge 1', 'charge 3'])
    assert.deepEqual(await scene.rows('select distinct consumer_name as name from onceward.ledger'), [
      { name: newName },
    ])
  })

  test('and started at the same moment is refused under the old name, or not renamed', async t => {
    const scene = await Scene.open(t)
    const { consumer } = await lived(scene)
    const store = createPostgresStore({ pool: scene.pool })
    const reading = { kind: 'file', place: 'a', reader: 'r', keeper: 'store', virtualHost: '' } as const
    const facts = {
      name: consumer.name,
      generation: 1,
      owner: 'tests',
      risk: 'projection',
      mode: 'live',
      handlerVersion: '1',
      instance: 'a test',
      handlerTimeoutMs: 1_000,
      deliveriesMax: 1,
      dedup: 'marker',
      deadLetterTo: null,
      reading,
    } as const
    await store.closeRun(await store.enroll(facts))
    const [{ id }] = (await scene.rows(
      'select id from onceward.consumer where name = $1 and generation = 1',
      consumer.name,
    )) as [{ id: number }]
    const [started, renamed] = await Promise.allSettled([store.enroll(facts), rename(scene)])
    if (renamed.status === 'fulfilled') {
      assert.equal(started.status, 'rejected')
      assert.match(String((started as PromiseRejectedResult).reason), /was read by consumer "okapi_intake"/)
    } else {
      assert.match(String(renamed.reason), /It is running/)
      assert.equal(started.status === 'fulfilled' && started.value.consumerId, id, 'the memory it had')
    }
  })
})
