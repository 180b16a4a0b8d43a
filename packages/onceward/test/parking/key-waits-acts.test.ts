import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { defineConsumer, park } from 'onceward'
import { until } from 'onceward/testing'
import { approveRequest, deleteParked, requestDeletion } from '../../src/operations/parking/delete-parked.ts'
import { fixPayload } from '../../src/operations/parking/fix-parked.ts'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { skipParked } from '../../src/operations/parking/skip-parked.ts'
import { renameConsumer } from '../../src/operations/server/names.ts'
import { skipWithout } from '../services/services.ts'
import { type Job, type JobContext, jobContract, Scene, write } from '../work/scene.ts'
import { direct, replayAll, settled } from './parked-scene.ts'
import { People } from './people.ts'

describe('acts on a message whose business key others wait for', await skipWithout('postgres'), () => {
  let scene: Scene
  let people: People
  before(async () => {
    scene = await Scene.open()
    await scene.pool.query('select onceward.create_roles()')
    await scene.pool.query('insert into onceward.person (role_name) values (session_user)')
    people = new People(scene.pool, scene.url)
  })
  after(async () => {
    await people.close()
    await scene.close()
  })

  /** `part` is the business key, `version` the content under it. */
  const contract = (name: string, parks: ReadonlySet<string>) => ({
    ...direct,
    risk: 'projection' as const,
    identity: {
      id: (m: Job) => m.id,
      businessKey: (m: Job) => m.part,
      businessDigest: (m: Job) => ({ version: m.version ?? 1 }),
    },
    handle: async (context: JobContext) => {
      if (parks.has(context.message.id)) return park('a person decides')
      await write(context, name)
      return undefined
    },
  })
  const job = (id: string, version = 1): Job => ({ id, part: 'cap-1', version })

  /** The first is parked and holds the key; the others wait for it. */
  async function waiting(name: string, ...jobs: readonly Job[]) {
    const parks = new Set([jobs[0]!.id])
    const running = await scene.start(name, contract(name, parks))
    for (const one of jobs) {
      await scene.publish(name, one)
      await settled(scene, name)
    }
    await until('all are parked', async () => (await scene.held(name)).length === jobs.length)
    parks.clear()
    return running
  }
  const marked = (name: string, ...wanted: readonly string[]) =>
    until(
      `markers of ${name} are ${wanted.join(', ')}`,
      async () => (await scene.markers(name)).join() === wanted.join(),
      { deadlineMs: 30_000 },
    )
  const select = async (name: string, ...messages: readonly string[]) => {
    const all = await previewParked(scene.pool, { consumer: name, countMax: 10 })
    const ids = all.rows.filter(row => messages.includes(row.messageId!)).map(row => row.id)
    return { ids, ...(await previewParked(scene.pool, { consumer: name, ids, countMax: 10 })) }
  }
  async function erase(name: string, ...messages: readonly string[]): Promise<void> {
    const { ids, digest } = await select(name, ...messages)
    const ann = await people.login(['onceward_operator'], { person: true })
    const bob = await people.login(['onceward_approver'], { person: true })
    const selection = { consumer: name, ids, digest, because: 'must not be kept' }
    const request = await requestDeletion(ann.pool, selection, 3_600)
    await approveRequest(bob.pool, request.id, digest, 'looked at it')
    await deleteParked(ann.pool, { id: request.id, consumer: name })
  }
  async function skip(name: string, ...messages: readonly string[]): Promise<void> {
    const { ids, digest } = await select(name, ...messages)
    await skipParked(scene.pool, { consumer: name, ids, digest, because: 'not wanted' })
  }
  async function fix(name: string, body: Job): Promise<void> {
    const { ids } = await select(name, body.id)
    const consumer = defineConsumer(jobContract(name, contract(name, new Set())))
    const bytes = Buffer.from(JSON.stringify(body))
    await fixPayload(scene.pool, consumer, { id: ids[0]!, body: bytes, because: 'the sender said so' })
  }
  const replay = async (name: string, message: string) =>
    replayAll(scene, name, `${name}-${message}`, { ids: (await select(name, message)).ids })
  const ended = async (name: string) => {
    const { rows } = await scene.pool.query(
      `select message_id from onceward.held where keyless and consumer_id = (select id from onceward.consumer where name = $1)`,
      [name],
    )
    return rows
  }

  it('deleted: the first that waits has the key and is applied, the others are duplicates', async () => {
    const running = await waiting('erased', job('a'), job('b'), job('c'))
    await erase('erased', 'a')
    await marked('erased', 'a ignored', 'b applied', 'c duplicate')
    await running.drain()
    assert.deepEqual(await scene.done('erased'), ['b'])
    assert.deepEqual(await scene.held('erased'), [])
  })

  it('deleted together with the next: the one after it has the key', async () => {
    const running = await waiting('erased_two', job('a'), job('b'), job('c'))
    await erase('erased_two', 'a', 'b')
    await marked('erased_two', 'a ignored', 'b ignored', 'c applied')
    await running.drain()
    assert.deepEqual(await scene.done('erased_two'), ['c'])
  })

  it('that only waits is deleted: holder and others are as they were', async () => {
    const running = await waiting('erased_waiter', job('a'), job('b'), job('c'))
    await erase('erased_waiter', 'b')
    assert.deepEqual(await scene.markers('erased_waiter'), ['a parked', 'b ignored', 'c parked'])
    assert.equal((await ended('erased_waiter')).length, 1)
    await replay('erased_waiter', 'a')
    await marked('erased_waiter', 'a applied', 'b ignored', 'c duplicate')
    await running.drain()
    assert.deepEqual(await scene.done('erased_waiter'), ['a'])
  })

  it('fixed: those that wait are compared with the applied content, not with the received one', async () => {
    const running = await waiting('fixed', job('a', 1), job('b', 2), job('c', 1))
    await fix('fixed', job('a', 2))
    await replay('fixed', 'a')
    await marked('fixed', 'a applied', 'b duplicate', 'c quarantined')
    await scene.publish('fixed', job('d', 2), job('e', 1))
    await marked('fixed', 'a applied', 'b duplicate', 'c quarantined', 'd duplicate', 'e quarantined')
    await running.drain()
    assert.deepEqual(await scene.done('fixed'), ['a'])
  })

  it('fixed and then skipped: the key passes on, with the content of its new holder', async () => {
    const running = await waiting('fixed_skipped', job('a', 1), job('b', 1), job('c', 1))
    await fix('fixed_skipped', job('a', 2))
    await skip('fixed_skipped', 'a')
    await marked('fixed_skipped', 'a ignored', 'b applied', 'c duplicate')
    await running.drain()
  })

  it('that waits and is fixed takes the key over with the fixed content', async () => {
    const running = await waiting('fixed_waiter', job('a', 1), job('b', 1), job('c', 2))
    await fix('fixed_waiter', job('b', 2))
    await skip('fixed_waiter', 'a')
    await marked('fixed_waiter', 'a ignored', 'b applied', 'c duplicate')
    await running.drain()
    assert.deepEqual(await scene.done('fixed_waiter'), ['b'])
  })

  it('renamed: those that wait do so under the new name, and continue with the holder', async () => {
    const running = await waiting('named_before', job('a'), job('b'), job('c'))
    await running.drain()
    await renameConsumer(scene.pool, 'named_before', 'named_after', 'a better name')
    await skip('named_after', 'a')
    const source = jobContract('named_before').source
    const after = await scene.start('named_after', { ...contract('named_after', new Set()), source })
    await marked('named_after', 'a ignored', 'b applied', 'c duplicate')
    await after.drain()
    assert.deepEqual(await scene.done('named_after'), ['b'])
    assert.deepEqual(await scene.held('named_after'), [])
  })
})
