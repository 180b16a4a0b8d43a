import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { takeRows } from '../../src/drivers/postgres/outbox/take-rows.ts'
import { WaitingLines } from '../../src/effects/publish/waiting-lines.ts'
import { OncewardError } from '../../src/errors.ts'
import { skipWithout } from '../services/services.ts'
import { type OutboxScene, openOutboxScene } from './outbox-scene.ts'

describe('rows behind a refused row', await skipWithout('postgres'), () => {
  let scene: OutboxScene
  before(async () => {
    scene = await openOutboxScene()
  })
  after(() => scene.close())

  const env = { clock: { nowMs: () => 0 }, random: () => 0.5 }
  const refused = new OncewardError('publish_unroutable', 'no queue is bound')
  const put = (broker: string, exchange: string | null, id: string, key: string | null) =>
    scene.pool.query(
      `insert into onceward.outbox (broker, destination, bucket, exchange, queue, message_id, key, body)
       values ($1, $1, 0, $2, '', $3, $4, 'x')`,
      [broker, exchange, id, key],
    )
  const take = async (broker: string, waiting: WaitingLines) => {
    const asked = { buckets: [0], perBucketMax: 500, max: 500, leftAlone: waiting.leftAlone() }
    return (await takeRows(scene.pool, { destination: broker, broker, ...asked })).rows
  }
  const idsOf = (rows: Awaited<ReturnType<typeof take>>) => rows.map(({ message }) => message.messageId)

  it('a key waits at the exchange that refuses it, not at another with the same routing key', async () => {
    const broker = scene.nextBroker()
    const waiting = new WaitingLines(env)
    await put(broker, 'unbound', 'refused', 'k')
    for (const row of await take(broker, waiting)) waiting.add(row, refused)
    await put(broker, 'unbound', 'behind', 'k')
    await put(broker, 'bound', 'other exchange', 'k')
    await put(broker, null, 'a queue', 'k')
    assert.deepEqual(idsOf(await take(broker, waiting)), ['other exchange', 'a queue'])
  })

  it('an exchange that refuses a hundred keys waits, and no other with the same routing key', async () => {
    const broker = scene.nextBroker()
    const waiting = new WaitingLines(env)
    for (let n = 0; n < 100; n++) await put(broker, 'unbound', `refused ${n}`, `k${n}`)
    for (const row of await take(broker, waiting)) waiting.add(row, refused)
    await put(broker, 'unbound', 'one more', 'k100')
    await put(broker, 'bound', 'other exchange', 'k100')
    assert.deepEqual(idsOf(await take(broker, waiting)), ['other exchange'])
  })
})
