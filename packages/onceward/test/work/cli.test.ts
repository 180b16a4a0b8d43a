import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { park, reject, retryAfter } from 'onceward'
import { until } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import { type HeldRow, Scene, write } from './scene.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const workOnly = { parts: ['worker'] as const }

describe('onceward work', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
  })
  after(() => scene.close())

  const run = (...args: string[]) =>
    new Promise<{ code: number; stdout: string }>(resolve => {
      const env = { ...process.env, ONCEWARD_DATABASE_URL: scene.url }
      execFile(process.execPath, ['--conditions=@onceward/source', main, ...args], { env }, (error, stdout) =>
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout }),
      )
    })
  const asJson = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout)
  const release = (id: string, consumer: string, because = 'mended') =>
    asJson('work', 'release', id, '--consumer', consumer, '--because', because)

  it('lists held messages, their next step, and the age of the oldest', async () => {
    await scene.store('listed', {}, { id: 'a' }, { id: 'b' })
    await scene.pool.query(
      `update onceward.held set lease_until = clock_timestamp() - interval '1 second', epoch = 1 where message_id = 'b'`,
    )
    const { work } = await asJson('work', 'list', '--consumer', 'listed', '--state', 'stored')
    assert.deepEqual(
      work.map((one: { messageId: string; next: string; leases: number }) => [
        one.messageId,
        one.next,
        one.leases,
      ]),
      [
        ['a', 'due', 0],
        ['b', 'stuck', 1],
      ],
    )
    const { consumers } = await asJson('status')
    const status = consumers.find((one: { name: string }) => one.name === 'listed')
    assert.equal(status.pending, 2)
    assert.ok(status.oldestPendingSeconds > 0)
    const { stdout } = await run('work', 'list', '--consumer', 'listed')
    assert.match(stdout, /listed\s+stored\s+stuck\s+b/)
  })

  it('prints no control sequences, and refuses an id that does not exist', async () => {
    await scene.store('hostile', {}, { id: 'a' })
    const { rows } = await scene.pool.query(
      `update onceward.held set headers = $1, properties = $1, reason = $2
       where consumer_id = (select id from onceward.consumer where name = 'hostile') returning id::text`,
      [JSON.stringify({ x: '\u009b2J\u009b31m' }), 'a\n999  forged'],
    )
    const shown = (await run('work', 'show', rows[0].id)).stdout
    const listed = (await run('work', 'list', '--consumer', 'hostile')).stdout
    assert.doesNotMatch(shown, /\u009b/)
    assert.doesNotMatch(shown + listed, /^999/m)
  })

  it('shows one with its bytes, attempts and actions', async () => {
    const changes = {
      failure: { attemptsMax: 1 },
      handle: async () => {
        throw new Error('no printer')
      },
    }
    await scene.store('shown', changes, { id: 'a', part: 'x' })
    const worker = await scene.start('shown', changes, workOnly)
    await until('it is parked', async () => (await scene.held('shown'))[0]!.state === 'parked')
    await worker.drain()
    const [row] = (await scene.held('shown')) as [HeldRow]
    const { work } = await asJson('work', 'show', row.id)
    assert.deepEqual(JSON.parse(work.body), { id: 'a', part: 'x' })
    assert.deepEqual([work.state, work.next, work.history.length], ['parked', 'for people', 1])
    assert.match(work.history[0].error, /no printer/)
    assert.match((await run('work', 'show', row.id)).stdout, /no printer/)
  })

  it('releases a parked message for another attempt, and records who and why', async () => {
    let open = false
    const changes = {
      handle: (context: Parameters<typeof write>[0]) => (open ? write(context, 'freed') : park('closed')),
    }
    await scene.store('freed', changes, { id: 'a' })
    const worker = await scene.start('freed', changes, workOnly)
    await until('it is parked', async () => (await scene.held('freed'))[0]!.state === 'parked')
    open = true
    const [row] = (await scene.held('freed')) as [HeldRow]
    assert.deepEqual(await release(row.id, 'freed'), { ok: true, released: 1, from: 'parked' })
    await until('it is done', async () => (await scene.held('freed')).length === 0)
    await worker.drain()
    assert.deepEqual(await scene.markers('freed'), ['a applied'])
    const { rows } = await scene.pool.query(
      'select actor = session_user as mine, reason as because, action as did from onceward.held_action where held_id = $1',
      [row.id],
    )
    assert.deepEqual(rows, [{ mine: true, because: 'mended', did: 'released from parked' }])
    const audit = await scene.pool.query(
      'select action, outcome, detail from onceward.audit where subject = $1 order by seq desc limit 1',
      [row.id],
    )
    assert.deepEqual(audit.rows, [{ action: 'work release', outcome: 'done', detail: { from: 'parked' } }])
  })

  it('ends a delay, and a lease, whose worker then finishes nothing', async () => {
    const begun = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    let calls = 0
    const changes = {
      handle: async (context: Parameters<typeof write>[0]) => {
        calls++
        if (calls === 1) return retryAfter(3_600_000)
        if (calls === 2) {
          begun.resolve()
          await go.promise
        }
        await write(context, 'claimed')
        return undefined
      },
    }
    await scene.store('claimed', changes, { id: 'a' })
    const worker = await scene.start('claimed', changes, workOnly)
    await until('it is put off', async () => (await scene.held('claimed'))[0]?.attempts === 1)
    const [row] = (await scene.held('claimed')) as [HeldRow]
    await release(row.id, 'claimed')
    await begun.promise
    await release(row.id, 'claimed')
    await until('another call has done it', async () => (await scene.held('claimed')).length === 0)
    go.resolve()
    await worker.drain()
    assert.deepEqual([calls, await scene.done('claimed')], [3, ['a']])
  })

  it('refuses the wrong consumer, a missing reason, an unknown id, and a message that is not safe to retry', async () => {
    const changes = { handle: () => reject('never') }
    await scene.store('refused', changes, { id: 'a' })
    const worker = await scene.start('refused', changes, workOnly)
    await until('it is dead', async () => (await scene.held('refused'))[0]!.state === 'dead')
    await worker.drain()
    const [row] = (await scene.held('refused')) as [HeldRow]
    assert.match((await release(row.id, 'refused')).error, /is dead/)
    assert.match((await release(row.id, 'other')).error, /not belong to consumer/)
    assert.match((await release(row.id, 'refused', ' ')).error, /Say why/)
    assert.match((await release('999999999', 'refused')).error, /no held work/)
    assert.equal((await run('work', 'show', 'x')).code, 2)
  })
})
