import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { topic } from 'onceward/kafka'
import { createPool, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { openKafka, randomName, type TopicOptions } from '../kafka/fixture.ts'
import { createDatabase } from '../services/services.ts'
import { Load } from './load.ts'
import { Member } from './member.ts'
import { Watch } from './watch.ts'
import { type Memory, tables, type WorkEvent } from './work.ts'

const partitions = 6
const deadlineMs = 120_000

export interface SceneOptions {
  readonly memory: Memory
  /**
   * What the frozen process does when it is woken: notice that its session is over, or go on to its fence.
   */
  readonly zombie: 'learns first' | 'acts first'
  readonly protocol?: 'classic' | 'consumer'
  readonly bootstrap?: string
  readonly topic?: TopicOptions
  /** Each process is a static member. */
  readonly isStatic?: boolean
}

export type Scene = Awaited<ReturnType<typeof openScene>>

/**
 * A topic under load, a group of processes that read it, and somebody who watches. Everything goes when the
 * test ends.
 */
export async function openScene(t: TestContext, options: SceneOptions) {
  const kafka = await openKafka(t, options.bootstrap)
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 4 })
  const spawned: Member[] = []
  const name = await kafka.createTopic({ name: randomName('rebalance'), partitions, ...options.topic })
  const load = new Load(kafka, name, { partitions, repeats: options.memory !== 'nothing but the position' })
  const watch = new Watch(kafka, pool, load, name)
  t.after(async () => {
    await Promise.allSettled([load.stop(), watch.stop()])
    await Promise.all(spawned.map(member => member.kill()))
    await pool.end()
    await database.drop()
  })
  await migrate(pool)
  await pool.query(tables)
  const declare = (instance: string) =>
    topic(name, {
      group: name,
      ...(options.isStatic && { instance }),
      start: 'earliest',
      sessionTimeoutMs: 6_000,
      rebalanceTimeoutMs: 20_000,
      ...(options.protocol && { protocol: options.protocol }),
    })
  const rows = async (sql: string, values: unknown[] = []) => (await pool.query(sql, values)).rows
  const count = async (from: string, values: unknown[] = []) =>
    (await rows(`select count(*)::int from ${from}`, values))[0].count as number

  return {
    name,
    load,
    watch,
    rows,
    count,
    /** A process of the group, running; it has partitions a moment later. */
    async join(): Promise<Member> {
      const instance = `member-${spawned.length + 1}`
      const member = new Member({
        name: instance,
        databaseUrl: database.url,
        kafkaBootstrap: kafka.bootstrap,
        declaration: declare(instance),
        memory: options.memory,
      })
      spawned.push(member)
      return member.running()
    },
    /** All members apply something from now on: each has partitions, and they flow. */
    async allApply(members: readonly Member[]): Promise<void> {
      const [from] = await rows('select coalesce(max(number), 0) as number from applied')
      for (const member of members) {
        await until(
          `${member.name} applies (${member.stderr})`,
          async () => {
            watch.assertNothingSkipped()
            return (await count('applied where member = $1 and number > $2', [member.name, from.number])) > 5
          },
          { deadlineMs },
        )
      }
    },
    /** Which partition an event is in, and how often that one has been taken. */
    async ownershipOf({ key }: WorkEvent): Promise<number> {
      const partition = `${name}/${Number(key) % partitions}`
      return (await rows('select epoch from onceward.checkpoint where partition = $1', [partition]))[0].epoch
    },
    async takings(): Promise<number> {
      return (await rows('select sum(epoch)::int as takings from onceward.checkpoint'))[0].takings
    },
    /** The load ends and everything that was sent gets applied. */
    async finish(members: readonly Member[]): Promise<void> {
      await load.stop()
      await until(
        'everything is applied',
        async () => {
          watch.assertNothingSkipped()
          return (await count('(select distinct id from applied) as different')) === load.events
        },
        { deadlineMs },
      )
      // Behind the last new event there may be repeated ones, which a member that leaves at once would not
      // come to.
      const ends = await Promise.all(load.records.map((_, partition) => kafka.endOffset(name, partition)))
      const isRead = async () => {
        const [told, stored] = [await kafka.committed(name, name), await watch.storedPositions()]
        return ends.every((end, partition) => told.get(partition) === end || stored.get(partition) === end)
      }
      await until('everything is read', isRead, { deadlineMs })
      for (const member of members) await member.leave()
      await watch.stop()
      await watch.sample()
      const told = await kafka.committed(name, name)
      assert.deepEqual(
        ends.map((_, partition) => told.get(partition)),
        ends,
        'the group stands at the end of every partition',
      )
    },
  }
}
