import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createPool, migrate } from 'onceward/postgres'
import { readCampaignRow } from '../../src/drivers/postgres/campaign/campaigns.ts'
import { endCampaignLease, leaseCampaign } from '../../src/drivers/postgres/campaign/lease-campaign.ts'
import { joinRelays, shareBuckets } from '../../src/drivers/postgres/outbox/share-buckets.ts'
import { extendLease, takeLease } from '../../src/drivers/postgres/queue/lease.ts'
import { readStatusRows } from '../../src/drivers/postgres/status/read-status-rows.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

describe('the beginning of a lease', await skipWithout('postgres'), async () => {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 3 })
  await migrate(pool)
  const nowMs = async () => (await pool.query('select clock_timestamp() as now')).rows[0].now.getTime()

  test('is shown for the buckets of a relay, and stays while it extends its lease', async () => {
    const beganMs = await nowMs()
    const relay = { destination: 'rabbitmq', instance: 'one', leaseMs: 60_000 }
    const relayId = await joinRelays(pool, relay)
    const extend = () => shareBuckets(pool, { ...relay, relayId, busy: [] })
    await extend()
    const [first] = (await readStatusRows(pool)).relays
    assert.equal(first!.buckets, 32)
    assert.ok(first!.leasedAt!.getTime() >= beganMs && first!.leasedAt!.getTime() <= (await nowMs()))
    await extend()
    assert.deepEqual((await readStatusRows(pool)).relays[0]!.leasedAt, first!.leasedAt)
    await joinRelays(pool, { ...relay, instance: 'two' })
    await extend()
    const { rows } = await pool.query(
      'select count(*)::int from onceward.outbox_bucket where relay_id is null and leased_at is null',
    )
    assert.equal(rows[0].count, 16, 'buckets that were given back have none')
  })

  test('is shown for a campaign while a process has it', async () => {
    const { rows } = await pool.query(
      `insert into onceward.campaign (consumer_name, generation, live_generation, risk, mode, selection, reason)
       values ('c', 1, 1, 'money', 'forensic', '{}', 'test') returning id::text`,
    )
    await pool.query(`update onceward.campaign set state = 'previewed'`)
    const leasedAt = async () => (await readCampaignRow(pool, rows[0].id))!.leasedAt
    assert.equal(await leasedAt(), null)
    const beganMs = await nowMs()
    const epoch = await leaseCampaign(pool, rows[0].id, 'me', 30)
    assert.ok((await leasedAt())!.getTime() >= beganMs)
    await endCampaignLease(pool, rows[0].id, epoch!, { failure: 'stopped', wanted: null })
    assert.equal(await leasedAt(), null)
  })

  test('is kept for a lease of a queue', async t => {
    t.after(async () => {
      await pool.end()
      await database.drop()
    })
    await pool.query(`insert into onceward.queue (name) values ('q')`)
    const beganMs = await nowMs()
    const id = await takeLease(pool, 1, 'me', 60_000)
    const read = async () =>
      (await pool.query('select leased_at from onceward.queue_lease where id = $1', [id])).rows[0].leased_at
    const leasedAt = await read()
    assert.ok(leasedAt.getTime() >= beganMs)
    await extendLease(pool, id, 60_000)
    assert.deepEqual(await read(), leasedAt)
  })
})
