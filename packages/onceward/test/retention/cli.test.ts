import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { skipWithout } from '../services/services.ts'
import { type MemoryScene, memoryScene } from './scene.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

describe('onceward retention', await skipWithout('postgres'), () => {
  let scene: MemoryScene
  let folder: string
  before(async () => {
    scene = await memoryScene()
    folder = mkdtempSync(join(tmpdir(), 'onceward-retention-'))
  })
  after(async () => {
    await scene[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  })

  const run = (...args: string[]) =>
    new Promise<{ code: number; stdout: string; stderr: string }>(resolve => {
      const env = { ...process.env, ONCEWARD_DATABASE_URL: scene.url }
      execFile(
        process.execPath,
        ['--conditions=@onceward/source', main, 'retention', ...args],
        { env },
        (error, stdout, stderr) =>
          resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
      )
    })
  const contract = (retention: string, name = 'remembering') => {
    const path = join(folder, `${name}-${Math.random()}.ts`)
    writeFileSync(
      path,
      `export default { name: '${name}', owner: 'tests', risk: 'money', source: { kind: 'postgres', queue: 'q' },
        identity: { id: m => m.id }, handle() {}, retention: ${retention} }`,
    )
    return path
  }
  const terms = `{ markers: '30d', sourceKeeps: '7d', action: 'archive' }`

  test('plans, runs dry, removes with the name as confirmation, and shows what is left', async () => {
    await scene.markers('old-', 300, 40)
    const file = contract(terms)
    const plan = JSON.parse((await run('plan', file, '--json')).stdout)
    assert.equal(plan.planned.find((one: { kind: string }) => one.kind === 'markers').rows, 300)
    assert.match((await run('plan', file)).stdout, /retention\.sourceKeeps\s+7d/)
    const dry = JSON.parse(
      (await run('run', file, '--consumer', 'remembering', '--dry-run', '--json')).stdout,
    )
    assert.equal(dry.dryRun, true)
    assert.equal(await scene.left(), 300)

    const wrong = await run('run', file, '--consumer', 'other')
    assert.equal(wrong.code, 2)
    assert.match(wrong.stderr, /exports consumer remembering, not "other"/)
    const nowhere = await run('run', file, '--consumer', 'remembering')
    assert.equal(nowhere.code, 1)
    assert.match(nowhere.stderr, /no folder is configured/)
    assert.equal(await scene.left(), 300)

    const archive = join(folder, 'archive')
    const done = await run(
      'run',
      file,
      '--consumer',
      'remembering',
      '--archive',
      archive,
      '--full-speed',
      '--json',
    )
    assert.equal(done.code, 0)
    assert.equal(JSON.parse(done.stdout).removed.markers, 300)
    assert.equal(await scene.left(), 0)
    assert.equal(readdirSync(archive).length, 1)

    const status = JSON.parse((await run('status', '--json')).stdout)
    assert.equal(status.horizons[0].purgedCount, 300)
    assert.match((await run('status')).stdout, /remembering\s+1\s+markers\s+30d\s+archive\s+300/)
  })

  test('refuses terms that are too short, contracts without terms, and unknown consumers', async () => {
    const short = await run('plan', contract(`{ markers: '3d', sourceKeeps: '7d' }`))
    assert.equal(short.code, 1)
    assert.match(short.stderr, /would remove markers after 3d.*sourceKeeps: 7d.*Nothing was started/s)
    const none = await run('plan', contract('undefined'))
    assert.equal(none.code, 2)
    assert.match(none.stderr, /no retention section/)
    const stranger = await run('plan', contract(terms, 'stranger'))
    assert.equal(stranger.code, 2)
    assert.match(stranger.stderr, /never ran on this database/)
  })
})
