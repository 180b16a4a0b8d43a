import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import { Scene } from './scene.ts'
import type { ProcessOrders } from './worker-process.ts'

const program = fileURLToPath(new URL('worker-process.ts', import.meta.url))

/** A worker in a process of its own, and what it told. */
class Child {
  readonly process: ChildProcess
  readonly said: string[] = []
  readonly ended: Promise<NodeJS.Signals | number | null>

  constructor(orders: ProcessOrders) {
    this.process = spawn(process.execPath, ['--conditions=@onceward/source', program], {
      env: { ...process.env, PROCESS_ORDERS: JSON.stringify(orders) },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.process.on('message', message => void this.said.push(String(message)))
    this.ended = new Promise(resolve => this.process.once('exit', (code, signal) => resolve(signal ?? code)))
  }

  says(word: string): Promise<void> {
    return until(`a child says ${word}`, () => this.said.some(said => said.startsWith(word)))
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (signal === 'SIGTERM') await this.says('running')
    this.process.kill(signal)
    assert.equal(await this.ended, signal === 'SIGTERM' ? 0 : signal)
  }
}

describe('workers in processes of their own', await skipWithout('postgres'), () => {
  let scene: Scene
  const children: Child[] = []
  before(async () => {
    scene = await Scene.open()
  })
  after(async () => {
    for (const child of children) child.process.kill('SIGKILL')
    await scene.close()
  })

  const start = (name: string, changes: Partial<ProcessOrders> = {}) => {
    const child = new Child({
      url: scene.url,
      name,
      leaseMs: 5_000,
      order: 'none',
      parts: ['worker'],
      handlerTimeoutMs: 60_000,
      ...changes,
    })
    children.push(child)
    return child
  }

  it('killed holding a lease: another takes over when it expires, under the next epoch', async () => {
    await scene.store('killed', {}, { id: 'a' })
    const first = start('killed', { stopIn: { id: 'a', how: 'for ever' } })
    await first.says('stopped')
    await first.stop('SIGKILL')
    const [row] = await scene.held('killed')
    assert.deepEqual([row!.epoch, row!.leased], [1, true])
    const began = performance.now()
    const second = start('killed')
    await until('another has done it', async () => (await scene.held('killed')).length === 0)
    assert.ok(performance.now() - began < 30_000, 'in about one lease')
    await second.stop('SIGTERM')
    assert.deepEqual(await scene.done('killed'), ['a'])
  })

  it('frozen past its lease: fenced when it resumes, and the effect happens once', async () => {
    await scene.store('frozen', {}, { id: 'a' })
    const first = start('frozen', { stopIn: { id: 'a', how: 'until told' } })
    await first.says('stopped')
    first.process.kill('SIGSTOP')
    const second = start('frozen')
    await until('another has done it', async () => (await scene.done('frozen')).length === 1)
    first.process.send('go on')
    first.process.kill('SIGCONT')
    await first.says('went on')
    await first.stop('SIGTERM')
    await second.stop('SIGTERM')
    const { rows } = await scene.pool.query(`select by from done where consumer = 'frozen'`)
    assert.deepEqual(rows, [{ by: second.process.pid }])
    assert.deepEqual(await scene.markers('frozen'), ['a applied'])
  })

  it('with its event loop blocked past the lease: the lease is lost safely', async () => {
    await scene.store('busy', {}, { id: 'a' })
    const first = start('busy', { leaseMs: 500, stopIn: { id: 'a', how: 'busy', busyMs: 6_000 } })
    await first.says('stopped')
    const second = start('busy', { leaseMs: 500 })
    await until('somebody has done it', async () => (await scene.held('busy')).length === 0)
    await first.says('went on')
    await first.stop('SIGTERM')
    await second.stop('SIGTERM')
    assert.deepEqual(await scene.done('busy'), ['a'])
  })

  it('several share keys: each key stays in order, through a kill and a freeze', async () => {
    const keys = ['a', 'b', 'c']
    const ids = (key: string) => Array.from({ length: 30 }, (_, n) => `${key}-${String(n).padStart(2, '0')}`)
    const jobs = ids('').flatMap((_, n) => keys.map(key => ({ id: ids(key)[n]!, key })))
    await scene.store('sharing', { order: 'key' }, ...jobs)
    const killed = start('sharing', { order: 'key', stopIn: { id: 'a-05', how: 'for ever' } })
    const frozen = start('sharing', { order: 'key', stopIn: { id: 'a-05', how: 'until told' } })
    await until('one of them stands', () => [killed, frozen].some(child => child.said.includes('stopped')))
    await killed.stop('SIGKILL')
    frozen.process.kill('SIGSTOP')
    const others = [start('sharing', { order: 'key' }), start('sharing', { order: 'key' })]
    await until('all is done', async () => (await scene.held('sharing')).length === 0, {
      deadlineMs: 120_000,
    })
    frozen.process.send('go on')
    frozen.process.kill('SIGCONT')
    for (const child of [frozen, ...others]) await child.stop('SIGTERM')
    const done = await scene.done('sharing')
    for (const key of keys)
      assert.deepEqual(
        done.filter(id => id.startsWith(key)),
        ids(key),
      )
  })
})
