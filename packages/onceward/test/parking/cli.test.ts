import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { startRedrive, stopRedrive } from '../../src/operations/parking/redrive-parked.ts'
import { skipWithout } from '../services/services.ts'
import { Scene } from '../work/scene.ts'
import { direct, failing, settled } from './parked-scene.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

describe('onceward parked and audit', await skipWithout('postgres'), () => {
  let scene: Scene
  const folder = mkdtempSync(join(tmpdir(), 'parked-cli-'))
  before(async () => {
    scene = await Scene.open()
    const names = Array.from({ length: 6 }, (_, n) => ({ id: `m-${n}`, part: '\u001b[2Jx' }))
    await scene.publish('cli', ...names)
    const failure = { attemptsMax: 1 }
    const running = await scene.start('cli', {
      ...direct,
      failure,
      ...failing('cli', new Set(names.map(({ id }) => id))),
    })
    await settled(scene, 'cli')
    await running.drain()
  })
  after(async () => {
    rmSync(folder, { recursive: true })
    await scene.close()
  })

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
  const because = ['--consumer', 'cli', '--because', 'a test']

  it('lists, groups and shows, and prints nothing that a terminal obeys', async () => {
    const { rows } = await json('parked', 'list', '--consumer', 'cli', '--limit', '4')
    assert.equal(rows.length, 4)
    const next = await json('parked', 'list', '--consumer', 'cli', '--after', rows[3].id)
    assert.equal(next.rows.length, 2)
    const { groups } = await json('parked', 'groups')
    assert.deepEqual([groups[0].count, groups[0].code], [6, 'E_BAD'])
    const file = join(folder, 'body')
    const shown = await run('parked', 'show', rows[0].id, '--body-to', file)
    assert.ok(!shown.stdout.includes('\u001b'))
    assert.match(shown.stdout, /E_BAD/)
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')).id, 'm-0')
  })

  it('lists by ids, texts and members together, and classifies what a list prints', async () => {
    const ids = async (...flags: string[]) => {
      const { stdout } = await run('parked', 'list', '--consumer', 'cli', ...flags, '--ids')
      return stdout
        .trim()
        .split('\n')
        .filter(id => id !== '')
    }
    const all = await ids()
    assert.equal(all.length, 6)
    assert.deepEqual(await ids('--id', all[1]!, all[4]!), [all[1], all[4]])
    assert.deepEqual(await ids('--text', 'm-2', '--text', 'part'), [all[2]])
    assert.deepEqual(await ids('--text', 'm-2', '--text', 'm-3'), [])
    assert.deepEqual(await ids('--member', 'id=m-3', '--member', 'part=other'), [])
    assert.deepEqual(await ids('--text', 'm-2', '--member', 'id=m-3'), [])
    const file = join(folder, 'ids')
    writeFileSync(file, `${all.slice(0, 2).join('\n')}\n`)
    const classified = ['--ids-from', file, '--consumer', 'cli', '--label', 'from a list']
    assert.equal((await json('parked', 'classify', ...classified)).rows, 2)
    assert.deepEqual(await ids('--label', 'from a list'), all.slice(0, 2))
    assert.equal((await run('parked', 'classify', '--consumer', 'cli', '--label', 'x')).code, 2)
  })

  it('finds a member of a payload, and keeps searches under a name', async () => {
    const found = await json('parked', 'list', '--member', 'id=m-3')
    assert.deepEqual(
      found.rows.map((row: { messageId: string }) => row.messageId),
      ['m-3'],
    )
    assert.deepEqual((await json('parked', 'list', '--member', 'part=m-3')).rows, [])
    assert.deepEqual([(await json('parked', 'list', '--member', 'id')).exit], [2])
    await json('parked', 'filters', '--save', 'mine', '--search', 'consumer:cli code:E_BAD')
    const { filters } = await json('parked', 'filters')
    assert.deepEqual([filters[0].name, filters[0].query], ['mine', 'consumer:cli code:E_BAD'])
    assert.equal((await json('parked', 'filters', '--remove', 'mine')).removed, true)
    assert.deepEqual((await json('parked', 'filters')).filters, [])
    assert.equal((await json('parked', 'filters', '--save', 'half')).exit, 2)
  })

  it('acts on a filter only with the digest of its preview', async () => {
    const without = await json('parked', 'skip', ...because)
    assert.deepEqual([without.exit, without.ok], [2, false])
    const preview = await json('parked', 'skip', ...because, '--limit', '2', '--dry-run')
    assert.deepEqual([preview.rows.length, preview.more], [2, true])
    const wrong = await json('parked', 'skip', ...because, '--limit', '3', '--expect', preview.digest)
    assert.equal(wrong.exit, 2)
    const done = await json('parked', 'skip', ...because, '--limit', '2', '--expect', preview.digest)
    assert.deepEqual([done.exit, done.closed], [0, 2])
    assert.equal((await json('parked', 'groups')).groups[0].count, 4)
    const closed = await json('parked', 'closed', '--consumer', 'cli')
    assert.deepEqual([closed.total, closed.rows[0].how, closed.rows[0].because], [2, 'skipped', 'a test'])
  })

  it('redrives ids under a name, and shows the outcome', async () => {
    const { rows } = await json('parked', 'list', '--consumer', 'cli')
    const ids = rows.map((row: { id: string }) => row.id)
    const wrong = await json('parked', 'redrive', ids[0], '--consumer', 'other', '--because', 'x')
    assert.equal(wrong.exit, 2)
    const redrive = ['parked', 'redrive', ...ids, ...because, '--id', 'cli-1', '--rate', '1000']
    assert.deepEqual((await json(...redrive)).moved, 4)
    assert.deepEqual((await json(...redrive)).moved, 0)
    const { redrive: result } = await json('parked', 'result', 'cli-1')
    assert.deepEqual(result.outcomes, { 'at work': 4 })
    assert.equal((await json('parked', 'stop', 'cli-1', '--because', 'x')).exit, 2)
    assert.match((await run('parked', 'result', 'cli-1')).stdout, /at work\s+4/)
    const other = await json('parked', 'redrive', '--consumer', 'other', '--because', 'x', '--id', 'cli-1')
    assert.match(other.error, /cli-1 does not belong to consumer "other"/)
  })

  it('continues under its name a redrive that was stopped', async () => {
    await scene.publish('halted', { id: 'a' }, { id: 'b' })
    const bad = failing('halted', new Set(['a', 'b']))
    const running = await scene.start('halted', { ...direct, failure: { attemptsMax: 1 }, ...bad })
    await settled(scene, 'halted')
    await running.drain()
    const { rows, digest } = await previewParked(scene.pool, { consumer: 'halted', countMax: 10 })
    const ids = rows.map(row => row.id)
    const order = { requestId: 'halted-1', consumer: 'halted', ids, digest, perSecond: null, because: 'x' }
    await startRedrive(scene.pool, order)
    await stopRedrive(scene.pool, 'halted-1', 'wait')
    const on = await json(
      'parked',
      'redrive',
      '--consumer',
      'halted',
      '--because',
      'go on',
      '--id',
      'halted-1',
    )
    assert.deepEqual([on.state, on.moved], ['moved', 2])
  })

  it('verifies the audit, with an exit code', async () => {
    const verdict = await json('audit', 'verify')
    assert.deepEqual([verdict.exit, verdict.ok, verdict.problems], [0, true, []])
    assert.equal((await json('audit', 'verify', '--expect', verdict.head)).ok, true)
    const { exit, problems } = await json('audit', 'verify', '--expect', 'ab')
    assert.deepEqual([exit, problems[0].what], [1, 'anchor'])
    const { entries } = await json('audit', 'list', '--consumer', 'cli')
    assert.ok(entries.some((entry: { action: string }) => entry.action === 'parked skip'))
  })

  it('creates the roles', async () => {
    assert.equal((await json('migrate', '--roles')).ok, true)
    const { rows } = await scene.pool.query(
      `select has_table_privilege('onceward_run', 'onceward.audit', 'insert') as writes, has_table_privilege('onceward_run', 'onceward.inbox', 'insert') as works`,
    )
    assert.deepEqual(rows, [{ writes: false, works: true }])
  })
})
