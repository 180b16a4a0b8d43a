import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from 'onceward/testing'
import { reconcileEffect } from '../../../src/operations/ledger-actions.ts'
import { skipWithout } from '../../services/services.ts'
import { type Child, openScene, type Scene, startChild } from '../scene.ts'
import type { Book } from './lying-gateway.ts'

const consumerName = 'lied_to'
const counts = { keyed: 66, forgetful: 33, keyless: 33, once: 33 }

/** FAILURES 73–77 and invariant 7: for any behaviour of the gateway, while processes crash or freeze. */
describe('an unreliable gateway and crashing dispatchers', await skipWithout('postgres'), () => {
  let scene: Scene
  let liar: ChildProcess
  let gatewayUrl: string
  const children: Child[] = []

  before(async () => {
    scene = await openScene()
    liar = fork(fileURLToPath(new URL('lying-gateway.ts', import.meta.url)))
    const [port] = await once(liar, 'message')
    gatewayUrl = `http://127.0.0.1:${port}`
    for (const [target, count] of Object.entries(counts))
      await scene.intend(
        consumerName,
        Array.from({ length: count }, (_, number) => `${target}-${number}`),
        undefined,
        target,
      )
  })
  after(async () => {
    for (const child of children) child.process.kill('SIGKILL')
    liar.kill('SIGKILL')
    await scene.close()
  })

  const book = async () => (await (await fetch(`${gatewayUrl}/book`)).json()) as Book
  const start = () => {
    const child = startChild({ url: scene.url, gatewayUrl, consumerName }, 'external/dispatcher-process.ts')
    children.push(child)
    return child
  }
  const settled = async () => {
    const { rows } = await scene.pool.query(
      `select count(*)::int as n from onceward.ledger where due_at < 'infinity'`,
    )
    return rows[0].n === 0
  }
  /** Until the gateway was called so often again, or nothing is left to call. */
  const calledAgain = async (times: number) => {
    const { calls } = await book()
    await until(`${times} more calls`, async () => (await book()).calls >= calls + times || (await settled()))
  }

  it('charges no key twice, and records every charge', async () => {
    let killed = 0
    let frozen = 0
    for (let round = 0; round < 6; round++) {
      // However much was called meanwhile: who is frozen has something to call.
      if (round % 2 === 1)
        await scene.intend(
          consumerName,
          Array.from({ length: 22 }, (_, number) => `keyed-${counts.keyed + 22 * round + number}`),
          undefined,
          'keyed',
        )
      const victim = start()
      await calledAgain(12)
      if (round % 2 === 0) {
        victim.process.kill('SIGKILL')
        killed++
        continue
      }
      victim.process.kill('SIGSTOP')
      const { rows } = await scene.pool.query(
        `select id, epoch from onceward.ledger where state = 'in flight'`,
      )
      if (rows.length > 0) frozen++
      const other = start()
      await until('others have taken over what it held', async () => {
        const held = await scene.pool.query(
          `select 1 from onceward.ledger join unnest($1::bigint[], $2::int[]) as h (id, epoch) using (id, epoch)
           where state = 'in flight'`,
          [rows.map(row => row.id), rows.map(row => row.epoch)],
        )
        return held.rows.length === 0
      })
      victim.process.kill('SIGCONT')
      await calledAgain(5)
      other.process.kill('SIGKILL')
      victim.process.kill('SIGKILL')
    }
    const last = start()
    await until('everything is settled', settled)
    last.process.kill('SIGKILL')
    assert.ok(killed >= 3 && frozen >= 1, `${killed} killed, ${frozen} frozen while calling`)
    await checkBook()
  })

  async function checkBook(): Promise<void> {
    const { keys, told } = await book()
    const { rows } = await scene.pool.query(
      'select id::text, target, effect_key as key, state::text, attempts from onceward.ledger order by target, id',
    )
    for (const { key, state, attempts } of rows) {
      const { charges = 0, calls = 0, bodies = [] } = keys[key] ?? {}
      assert.ok(charges <= 1, `${key} was charged ${charges} times, ${state}`)
      assert.ok(calls <= attempts, `${key}: ${calls} calls, ${attempts} attempts`)
      assert.ok(bodies.length <= 1, `${key}: the same bytes every time`)
      if (state === 'completed') assert.equal(charges, 1, `${key} is completed`)
      if (state === 'failed') assert.equal(charges, 0, `${key} is failed`)
    }
    const doubtful = rows.filter(row => row.state === 'unknown' || row.state === 'reconciling')
    assert.ok(doubtful.some(row => row.target === 'once' && row.state === 'unknown'))
    assert.ok(
      doubtful.some(row => row.target === 'keyed' && row.state === 'reconciling'),
      'stored errors',
    )
    for (const { id, key } of doubtful)
      await reconcileEffect(
        scene.pool,
        { id, consumer: consumerName, because: 'the book of the gateway' },
        keys[key]?.charges ? 'completed' : 'not done',
      )
    const charged = Object.entries(keys).filter(([, { charges }]) => charges === 1)
    const confirmed = await scene.pool.query(
      `select effect_key from onceward.ledger where state = 'completed'`,
    )
    assert.deepEqual(confirmed.rows.map(row => row.effect_key).sort(), charged.map(([key]) => key).sort())
    for (const path of Object.keys(counts)) {
      const seen = Object.keys(told).filter(lie => lie.startsWith(`${path}: `))
      assert.ok(seen.length >= 8, `${path} was lied to in ${seen.length} ways`)
    }
  }
})
