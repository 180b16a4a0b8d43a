import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { defineConsumer } from 'onceward'
import { fixPayload, noteStateFixed } from '../../src/operations/parking/fix-parked.ts'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { startRedrive } from '../../src/operations/parking/redrive-parked.ts'
import { skipWithout } from '../services/services.ts'
import { jobContract, Scene } from '../work/scene.ts'
import { failing, inOrder, settled } from './parked-scene.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const key = 'k\u202ex'
const formula = '=1+1'

/** What the console shows, read in a terminal: after a browser is gone, nothing is out of reach. */
describe('what the console shows, in a terminal', await skipWithout('postgres'), () => {
  let scene: Scene
  let id: string
  let later: string
  before(async () => {
    scene = await Scene.open()
    await scene.publish('desk', { id: 'm-1', key, part: 'bad' }, { id: 'm-2', key }, { id: formula })
    const contract = {
      ...inOrder,
      risk: 'projection' as const,
      ...failing('desk', new Set(['m-1', formula])),
    }
    const running = await scene.start('desk', contract)
    await settled(scene, 'desk')
    await running.drain()
    const { rows } = await previewParked(scene.pool, { consumer: 'desk', countMax: 10 })
    id = rows.find(({ messageId }) => messageId === 'm-1')!.id
    later = rows.find(({ messageId }) => messageId === formula)!.id
    const body = Buffer.from(JSON.stringify({ id: 'm-1', key, part: 'good' }))
    const because = 'the sender confirmed'
    await fixPayload(scene.pool, defineConsumer(jobContract('desk', contract)), { id, body, because })
    await noteStateFixed(scene.pool, { id: later, consumer: 'desk', because: 'mended elsewhere' })
    const selected = await previewParked(scene.pool, { consumer: 'desk', countMax: 10 })
    const ids = selected.rows.map(row => row.id)
    const order = { consumer: 'desk', ids, digest: selected.digest, perSecond: null }
    await startRedrive(scene.pool, { ...order, requestId: 'console-1', because: 'its console has ended' })
  })
  after(() => scene?.close())

  const run = (...args: string[]) =>
    new Promise<{ code: number; stdout: string; stderr: string }>(resolve => {
      const env = { ...process.env, ONCEWARD_DATABASE_URL: scene.url }
      execFile(
        process.execPath,
        ['--conditions=@onceward/source', main, ...args],
        { env },
        (error, stdout, stderr) =>
          resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
      )
    })
  const json = async (...args: string[]) => {
    const { code, stdout } = await run(...args, '--json')
    return { exit: code, ...JSON.parse(stdout) }
  }

  it('names every redrive, with the command that continues one whose process is gone', async () => {
    const { redrives } = await json('parked', 'redrives')
    const { requestId, state, selected, moved } = redrives[0]
    assert.deepEqual([redrives.length, requestId, state, selected, moved], [1, 'console-1', 'moving', 3, 0])
    const { stdout } = await run('parked', 'redrives', '--consumer', 'desk')
    assert.match(
      stdout,
      /next: onceward parked result console-1 --watch\n.*: onceward parked redrive --id console-1 --consumer desk --ramp --because …/,
    )
    assert.match((await run('parked', 'redrives', '--consumer', 'other')).stdout, /There are no redrives/)
    assert.equal((await json('parked', 'redrives', '--limit', '0')).exit, 2)
  })

  it('shows what each fix changed', async () => {
    const { stdout } = await run('parked', 'show', id, '--fixes')
    assert.match(stdout, /^fixed payload, .*: the sender confirmed$/m)
    assert.match(stdout, /^ {2}- {3}"part": "bad"$/m)
    assert.match(stdout, /^ {2}\+ {3}"part": "good"$/m)
    const { message, fixes } = await json('parked', 'show', id, '--fixes')
    assert.equal(message.messageId, 'm-1')
    assert.deepEqual([fixes.length, fixes[0].kind, fixes[0].because], [1, 'payload', 'the sender confirmed'])
    const noted = await run('parked', 'show', later, '--fixes')
    assert.match(noted.stdout, /^fixed elsewhere, .*: mended elsewhere\n {2}the payload was not changed$/m)
  })

  it('shows a key as one object: what is blocked, and in which order it will go', async () => {
    const { key: view } = await json('parked', 'key', key, '--consumer', 'desk')
    assert.equal(view.blocked.waiting, 1)
    assert.deepEqual(
      view.messages.map((one: { messageId: string; head: boolean }) => [one.messageId, one.head]),
      [
        ['m-1', true],
        ['m-2', false],
      ],
    )
    const { stdout } = await run('parked', 'key', key, '--consumer', 'desk')
    assert.ok(!stdout.includes('\u202e'))
    assert.match(stdout, /is blocked since .*: 1 message behind the head, which waits for an operator\./)
    assert.match(stdout, /next {2}\d+ +m-1 .*\n +\d+ +m-2 /)
    const none = await run('parked', 'key', 'none', '--consumer', 'desk')
    assert.match(none.stdout, /No messages are held under key none\./)
    const wrong = await run('parked', 'key', 'none', '--consumer', 'desc')
    assert.match(wrong.stdout, /There is no consumer desc\. Did you mean desk\?/)
  })

  it('writes a list as CSV without formulas', async () => {
    const { stdout } = await run('parked', 'list', '--csv')
    const [head, ...lines] = stdout.trimEnd().split('\r\n')
    assert.match(head!, /^id,consumer,state,failureClass,code,/)
    assert.equal(lines.length, 3)
    assert.ok(stdout.includes(`"'${formula}"`), stdout)
    assert.ok(stdout.includes(key), 'a file has the exact text')
    assert.equal((await run('parked', 'list', '--csv', '--json')).code, 2)
  })

  it('shows the runs of a consumer and its blocked keys', async () => {
    const { runs, blockedKeys } = await json('consumers', 'show', 'desk')
    assert.deepEqual([runs.length, runs[0].alive], [1, false])
    assert.deepEqual(
      blockedKeys.map((one: { key: string; head: string }) => [one.key, one.head]),
      [[key, id]],
    )
    const { stdout } = await run('consumers', 'show', 'desk')
    assert.match(stdout, /ended\n\nkey +state/)
    assert.ok(!stdout.includes('\u202e'))
    assert.equal((await json('consumers', 'show', 'desc')).exit, 2)
  })
})
