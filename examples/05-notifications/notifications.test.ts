import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { type RunOptions, runConsumer } from 'onceward'
import { createPool, createQueue, migrate, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { MailServer } from '../../packages/onceward/test/effects/external/mail-server.ts'
import { createDatabase, skipWithout } from '../../packages/onceward/test/services/services.ts'
import { notifications } from './notifications.ts'
import { startReceiver } from './receiver.ts'

const secrets = { '2026-07': 'the secret of this summer', '2026-01': 'the secret of last winter' }
process.env.WEBHOOK_SECRET = secrets['2026-07']
process.env.WEBHOOK_SECRET_BEFORE = secrets['2026-01']

const shipped = (order: number, message = order) => ({
  messageId: `evt-${message}`,
  orderId: `o-${order}`,
  parcel: `p-${order}`,
  customer: { name: 'Ada Lovelace', email: `ada${order}@shop.example` },
})

describe('notifications', await skipWithout('postgres'), () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let pool: ReturnType<typeof createPool>
  let mails: MailServer
  const closing: (() => Promise<unknown> | unknown)[] = []
  let queues = 0

  before(async () => {
    database = await createDatabase()
    pool = createPool(database.url, { max: 2 })
    await migrate(pool)
  })
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })
  after(async () => {
    await pool.end()
    await database.drop()
  })

  async function scene(
    options: Parameters<typeof startReceiver>[1] = {},
    known = secrets as Record<string, string>,
  ) {
    await pool.query('truncate onceward.ledger, onceward.inbox')
    const server = await new MailServer().open()
    mails = server
    closing.push(() => server.close())
    const warehouse = await startReceiver(known, options)
    closing.push(() => warehouse.close())
    const queue = `shipped-${++queues}`
    await createQueue(pool, queue)
    const consumer = notifications({
      queue,
      mailHost: '127.0.0.1',
      mailPort: mails.port,
      webhookUrl: warehouse.url,
    })
    return {
      warehouse,
      async send(...messages: ReturnType<typeof shipped>[]) {
        const client = await pool.connect()
        await publish(
          client,
          queue,
          messages.map(message => ({
            messageId: message.messageId,
            body: Buffer.from(JSON.stringify(message)),
          })),
        )
        client.release()
      },
      async run(more: Partial<RunOptions> = {}) {
        const running = await runConsumer(consumer, { databaseUrl: database.url, ...more })
        closing.push(() => running.drain(5_000))
        return running
      },
    }
  }
  const ledger = async () =>
    (
      await pool.query(
        'select target, state::text, count(*)::int as n from onceward.ledger group by 1, 2 order by 1, 2',
      )
    ).rows
  const completed = (count: number) =>
    until(`${count} effects completed`, async () => {
      const rows = (await ledger()).filter(row => row.state === 'completed')
      return rows.reduce((sum, row) => sum + row.n, 0) === count
    })

  it('each shipment is mailed once and reported to the warehouse once, however many messages report it', async () => {
    const { warehouse, send, run } = await scene()
    // The same message twice, and another message about the same shipment.
    await send(shipped(1), shipped(2), shipped(1), shipped(1, 99))
    const { consumer } = await run()
    await completed(4)
    await until('all are decided', () => consumer!.tally.outcomes.applied === 3)
    assert.deepEqual(mails.mails.map(mail => mail.to[0]).sort(), ['ada1@shop.example', 'ada2@shop.example'])
    assert.deepEqual(
      new Set(warehouse.shipments.values()),
      new Set([
        { orderId: 'o-1', parcel: 'p-1' },
        { orderId: 'o-2', parcel: 'p-2' },
      ]),
    )
    assert.equal(new Set(mails.mails.map(mail => /Message-ID: (.*)/.exec(mail.message)![1])).size, 2)
  })

  it('a warehouse that fails after doing the work is called again and does it once', async () => {
    const { warehouse, send, run } = await scene({ stumbles: call => call <= 2 })
    await send(shipped(3))
    await run()
    await completed(2)
    assert.deepEqual([warehouse.shipments.size, warehouse.calls()], [1, 3])
  })

  it('a mail that may have been sent is not sent again, and is listed', async () => {
    const { send, run } = await scene()
    mails.moods.push({ afterAccepting: 'gone' })
    await send(shipped(4))
    await run()
    await completed(1)
    await until('the mail is settled', async () =>
      (await ledger()).some(row => row.target === 'mail' && row.state === 'unknown'),
    )
    assert.equal(mails.mails.length, 1)
  })

  it('an unavailable mail server only delays', async () => {
    const { send, run } = await scene()
    mails.moods.push({ greeting: 'gone' }, { RCPT: '451 later' })
    await send(shipped(5))
    await run()
    await completed(2)
    assert.equal(mails.mails.length, 1)
  })

  it('a warehouse that only knows the old secret accepts the signature, one that knows neither does not', async () => {
    const old = await scene({}, { '2026-01': secrets['2026-01'] })
    await old.send(shipped(6))
    const running = await old.run()
    await completed(2)
    // Else its dispatcher may take the stranger's rows: they are of the same consumer.
    await running.drain()
    const stranger = await scene({}, { other: 'some other long secret' })
    await stranger.send(shipped(7))
    await stranger.run()
    await until('it was refused', () => stranger.warehouse.refused.length > 0)
    assert.equal(stranger.warehouse.shipments.size, 0)
  })

  it('a rebuild sends no notification', async () => {
    const { warehouse, send, run } = await scene()
    await send(shipped(8))
    const running = await run({ mode: 'rebuild' })
    await until('it is read', () => running.consumer!.tally.outcomes.applied === 1)
    assert.deepEqual([mails.mails.length, warehouse.calls(), await ledger()], [0, 0, []])
  })
})
