import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import amqp from 'amqplib'
import {
  type ConsumerContract,
  defineConsumer,
  type Part,
  realEnvironment,
  retryAfter,
  runConsumer,
  type SqlTransaction,
} from 'onceward'
import { topic } from 'onceward/kafka'
import { createPool, migrate } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { until } from 'onceward/testing'
import { readStatus } from '../../src/telemetry/read-status.ts'
import { openKafka, randomName } from '../kafka/fixture.ts'
import { createDatabase, rabbitmqUrl, skipWithout } from '../services/services.ts'

type Contract = ConsumerContract<{ id: string }, SqlTransaction>

const everywhere: readonly Part[] = ['consumer', 'worker', 'relay']
const failing: Contract['handle'] = () => retryAfter(300)
const rounds = (delayMs: number) => ({ delayMs, delayMaxMs: delayMs, attemptsMax: 500 })

/** A database, and consumers of one source that are started and stopped. */
class Scene {
  readonly warnings: string[] = []
  readonly pool: ReturnType<typeof createPool>
  readonly #url: string
  readonly #source: Contract['source']
  readonly #running = new Set<Awaited<ReturnType<typeof runConsumer>>>()

  private constructor(url: string, source: Contract['source']) {
    this.#url = url
    this.#source = source
    this.pool = createPool(url, { max: 3 })
  }

  static async open(t: TestContext, source: Contract['source']): Promise<Scene> {
    const database = await createDatabase()
    const scene = new Scene(database.url, source)
    t.after(async () => {
      for (const running of scene.#running) await running.drain(5_000)
      await scene.pool.end()
      await database.drop()
    })
    await migrate(scene.pool)
    await scene.pool.query('create table effect (consumer text, id text)')
    return scene
  }

  async start(changes: Partial<Contract>, parts: readonly Part[] = everywhere) {
    const name = changes.name ?? 'notes'
    const consumer = defineConsumer<{ id: string }, SqlTransaction>({
      name,
      owner: 'tests',
      risk: 'projection',
      source: this.#source,
      identity: { id: message => message.id },
      handle: async ({ message, tx }) =>
        void (await tx.query('insert into effect values ($1, $2)', [name, message.id])),
      ...changes,
    } as Contract)
    const env = realEnvironment()
    const warn = (text: string) => void this.warnings.push(text)
    const running = await runConsumer(consumer, {
      databaseUrl: this.#url,
      parts,
      env: { ...env, log: { ...env.log, warn } },
    })
    this.#running.add(running)
    return {
      stop: async () => {
        this.#running.delete(running)
        await running.drain(10_000)
      },
    }
  }

  async count(sql: string, ...values: readonly unknown[]): Promise<number> {
    return (await this.pool.query(`select count(*)::int as count ${sql}`, values as unknown[])).rows[0].count
  }

  /** Nothing but a copy is left of it, at the broker or in the outbox. */
  async assertRerouted(): Promise<void> {
    assert.equal(await this.count('from onceward.inbox'), 0)
    assert.equal(await this.count('from onceward.held'), 0)
    assert.equal(await this.count('from effect'), 0)
  }

  applied(id: string, consumer = 'notes'): Promise<void> {
    const sql = 'from effect where id = $1 and consumer = $2'
    return until(`${id} is applied`, async () => (await this.count(sql, id, consumer)) === 1, {
      deadlineMs: 60_000,
    })
  }

  get readsFormer(): number {
    return this.warnings.filter(text => /delay level that the contract no longer names/.test(text)).length
  }
}

async function onKafka(t: TestContext, ...levels: readonly number[]) {
  const kafka = await openKafka(t)
  const name = randomName('former')
  await kafka.createTopic({ name, partitions: 1 })
  for (const level of levels) await kafka.createTopic({ name: `${name}.retry.${level}` })
  const scene = await Scene.open(
    t,
    topic(name, { start: 'earliest', bootstrap: kafka.bootstrap, sessionTimeoutMs: 6_000 }),
  )
  const copies = async (level: number) => kafka.endOffset(`${name}.retry.${level}`, 0)
  const told = async (level: number) =>
    (await kafka.committed(`notes.1.retry.${level}`, `${name}.retry.${level}`)).get(0)
  await kafka.produce(name, ['{"id":"bad"}'])
  return { name, scene, copies, told }
}

const ofTopic = (delayMs: number) => ({ mode: 'retry topic' as const, ...rounds(delayMs) })

describe(
  'copies in retry topics that the contract does not name any more',
  await skipWithout('postgres', 'kafka'),
  () => {
    for (const [change, after] of [
      ['the mode is another', { mode: 'block' as const }],
      ['its delays are others', ofTopic(700)],
    ] as const)
      test(`are read to their end when ${change}, and then no longer read`, { timeout: 180_000 }, async t => {
        const { scene, name, copies, told } = await onKafka(t, 500, 700)
        const level = `${name}.retry.500`
        const isRead = async () =>
          (await scene.count('from onceward.checkpoint where starts_with(partition, $1)', level)) > 0
        // Stopped while a copy was on its way back to the topic, the next start finds it in the outbox.
        do {
          const first = await scene.start({ handle: failing, failure: ofTopic(500) })
          await until('a copy is in the topic, and its level is read', async () => {
            return (await copies(500)) >= 1 && (await isRead())
          })
          await first.stop()
        } while ((await scene.count('from onceward.outbox')) > 0)
        await scene.assertRerouted()
        const unread = { consumer: 'notes', generation: 1, topics: [level], messages: 1 }
        assert.deepEqual((await readStatus(scene.pool)).unreadLevels, [unread])
        const second = await scene.start({ failure: after })
        await scene.applied('bad')
        assert.equal(scene.readsFormer, 1)
        await second.stop()
        assert.equal(await told(500), await copies(500))
        assert.deepEqual((await readStatus(scene.pool)).unreadLevels, [])
        const third = await scene.start({ failure: after })
        await third.stop()
        assert.equal(scene.readsFormer, 1)
        assert.equal(await scene.count('from effect'), 1)
      })

    test('or in the outbox for them, are published and read', { timeout: 180_000 }, async t => {
      const { scene, name, copies } = await onKafka(t, 500)
      const first = await scene.start({ handle: failing, failure: ofTopic(500) }, ['consumer'])
      await until('a copy is in the outbox', async () => (await scene.count('from onceward.outbox')) === 1)
      const level = `from onceward.checkpoint where partition = '${name}.retry.500/0'`
      await until('its level was read', async () => (await scene.count(level)) === 1)
      await first.stop()
      await scene.assertRerouted()
      assert.equal(await copies(500), 0)
      await scene.start({ failure: { mode: 'block' } })
      await scene.applied('bad')
    })

    test('of another consumer of the topic are left to it', { timeout: 180_000 }, async t => {
      const { scene, copies } = await onKafka(t, 500)
      const first = await scene.start({ handle: failing, failure: ofTopic(500) })
      await until('a copy is in the topic', async () => (await copies(500)) >= 1)
      const other = await scene.start({ name: 'other', failure: { mode: 'block' } })
      await scene.applied('bad', 'other')
      assert.equal(scene.readsFormer, 0)
      await other.stop()
      await first.stop()
    })
  },
)

describe(
  'copies in retry queues that the contract does not name any more',
  await skipWithout('postgres', 'rabbitmq'),
  () => {
    async function onRabbit(t: TestContext) {
      const url = await rabbitmqUrl()
      const connection = await amqp.connect(url)
      const channel = await connection.createConfirmChannel()
      const name = randomName('former')
      const arguments_ = { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 }
      await channel.assertQueue(name, { durable: true, arguments: arguments_ })
      const closing: (() => Promise<unknown>)[] = []
      const scene = await Scene.open(t, queue(name, { url }))
      closing.push(async () => {
        for (const one of [name, `${name}.retry.500`]) await channel.deleteQueue(one)
        await connection.close()
      })
      t.after(async () => {
        for (const close of closing) await close()
      })
      channel.sendToQueue(name, Buffer.from('{"id":"bad"}'))
      await channel.waitForConfirms()
      return scene
    }
    const failure = { mode: 'retry queue' as const, ...rounds(500) }

    test('return automatically, unchanged', { timeout: 120_000 }, async t => {
      const scene = await onRabbit(t)
      const first = await scene.start({ handle: failing, failure })
      const sent = 'from onceward.attempt'
      await until('a copy was sent', async () => {
        return (await scene.count(sent)) >= 1 && (await scene.count('from onceward.outbox')) === 0
      })
      await first.stop()
      await scene.start({ failure: { mode: 'block' } })
      await scene.applied('bad')
      assert.equal(await scene.count('from effect'), 1)
    })

    test('or in the outbox for them, are published by the next start', { timeout: 120_000 }, async t => {
      const scene = await onRabbit(t)
      const first = await scene.start({ handle: failing, failure }, ['consumer'])
      await until('a copy is in the outbox', async () => (await scene.count('from onceward.outbox')) === 1)
      await first.stop()
      await scene.assertRerouted()
      await scene.start({ failure: { mode: 'block' } })
      await scene.applied('bad')
    })
  },
)
