import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from 'onceward/testing'
import { createDispatcher } from '../../src/effects/external/dispatcher.ts'
import { reconcileEffect, retryEffect } from '../../src/operations/ledger-actions.ts'
import { realEnvironment } from '../../src/runtime/real-environment.ts'
import { Gateway } from '../effects/gateway.ts'
import { openScene, type Scene } from '../effects/scene.ts'
import { skipWithout } from '../services/services.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

describe('onceward ledger', await skipWithout('postgres'), () => {
  let scene: Scene
  let gateway: Gateway

  before(async () => {
    scene = await openScene()
    gateway = await new Gateway().open()
  })
  after(async () => {
    gateway.close()
    await scene.close()
  })

  async function onceward(...args: string[]) {
    const child = spawn(process.execPath, ['--conditions=@onceward/source', main, 'ledger', ...args], {
      env: { ...process.env, ONCEWARD_DATABASE_URL: scene.url },
    })
    let out = ''
    child.stdout.on('data', chunk => {
      out += chunk
    })
    const code = await new Promise<number | null>(resolve => child.once('close', resolve))
    return { code, out }
  }
  const json = async (...args: string[]) => JSON.parse((await onceward(...args, '--json')).out)

  test('show names recipient and subject of a mail, and what is possible next', async () => {
    const [id] = await waiting('mailing', ['unknown'])
    const mail = { to: ['ada@shop.example', 'bob@shop.example'], subject: 'Shipped', text: 'On its way.' }
    await scene.pool.query(
      `update onceward.ledger set effect_type = 'email', body = convert_to($2, 'UTF8') where id = $1`,
      [id, JSON.stringify(mail)],
    )
    const { out } = await onceward('show', id!)
    assert.match(out, /^recipient +ada@shop\.example, bob@shop\.example$/m)
    assert.match(out, /^subject +Shipped$/m)
    assert.match(
      out,
      new RegExp(
        `^next: .*onceward ledger reconcile ${id} --as completed\\|not-done --consumer mailing`,
        'm',
      ),
    )
    assert.doesNotMatch(out, /On its way/)
    const { effect } = await json('show', id!)
    assert.deepEqual(effect.mail, { to: mail.to, subject: 'Shipped' })
  })

  test('a wrong consumer is refused with the name of the right one', async () => {
    const [id] = await waiting('owning', ['unknown'])
    const refused = await json('retry', id!, '--consumer', 'other', '--because', 'x')
    assert.match(refused.error, /belongs to consumer owning: pass --consumer owning/)
  })

  /** Rows of this consumer that wait for people, one of each state. */
  async function waiting(consumer: string, states: readonly string[]) {
    const keys = states.map(state => `${consumer}-${state}`)
    await scene.intend(consumer, keys)
    for (const [index, state] of states.entries())
      await scene.pool.query(
        `update onceward.ledger set state = $2::onceward.effect_state, due_at = 'infinity', attempts = 8, epoch = 3,
           doubt_since = clock_timestamp() where effect_key = $1`,
        [keys[index], state],
      )
    const { rows } = await scene.pool.query(
      'select id::text from onceward.ledger join unnest($1::text[]) with ordinality as k (key, n) on effect_key = key order by n',
      [keys],
    )
    return rows.map(row => row.id as string)
  }

  async function dispatchUntil(consumerName: string, what: () => Promise<boolean>) {
    const dispatcher = createDispatcher({
      pool: scene.pool,
      targets: { gateway: { url: gateway.url, allowPrivate: true } },
      consumerName,
      env: realEnvironment(),
      instance: 'test',
    })
    await dispatcher.start()
    await until('the dispatcher has done it', what)
    await dispatcher.drain()
  }

  test('lists effects that wait for an operator, and shows one with its evidence but not its body', async () => {
    await waiting('listed', ['failed', 'unknown', 'reconciling'])
    await scene.intend('listed', ['listed-pending'])
    const { effects } = await json('list', '--consumer', 'listed')
    assert.deepEqual(effects.map((effect: { state: string }) => effect.state).sort(), [
      'failed',
      'reconciling',
      'unknown',
    ])
    const open = await json('list', '--consumer', 'listed', '--state', 'open')
    assert.equal(open.effects.length, 4)
    const shown = effects.find((one: { state: string }) => one.state === 'failed')
    const { effect } = await json('show', shown.id)
    assert.deepEqual(
      [effect.key, effect.attempts, effect.bodyBytes, effect.actions],
      ['listed-failed', 8, 27, []],
    )
    assert.equal('body' in effect, false)
    const { out } = await onceward('list', '--consumer', 'listed')
    assert.match(out, /listed-unknown +unknown/)
  })

  test('reconciles an effect that may have happened, and keeps the reason', async () => {
    const [unknown, reconciling] = await waiting('found', ['unknown', 'reconciling'])
    const flags = ['--consumer', 'found', '--because', 'seen in the bank’s report']
    const done = await json('reconcile', unknown!, '--as', 'completed', ...flags)
    assert.equal(done.effect.state, 'completed')
    const not = await json('reconcile', reconciling!, '--as', 'not-done', ...flags)
    assert.equal(not.effect.state, 'failed')
    const { effect } = await json('show', unknown!)
    const [{ at, ...action }] = effect.actions
    assert.deepEqual(action, {
      actor: (await scene.pool.query('select session_user as me')).rows[0].me,
      action: 'reconcile',
      reason: 'seen in the bank’s report',
      from: 'unknown',
      to: 'completed',
    })
    assert.ok(at)
    assert.equal(gateway.calls.length, 0)
  })

  test('retries with new attempts, under the same key', async () => {
    const [failed, unknown] = await waiting('again', ['failed', 'unknown'])
    for (const id of [failed!, unknown!])
      assert.equal((await json('retry', id, '--consumer', 'again', '--because', 'fixed')).ok, true)
    await dispatchUntil('again', async () => (await scene.states('again')).completed === 2)
    assert.deepEqual(gateway.calls.map(call => call.key).sort(), ['again-failed', 'again-unknown'])
    assert.equal((await scene.row('again', 'again-failed')).attempts, 9)
  })

  test('refuses wrong names, empty reasons, and rows that do not wait', async () => {
    const [failed] = await waiting('guarded', ['failed'])
    await scene.intend('guarded', ['guarded-pending'])
    const pending = Number(failed) + 1
    for (const args of [
      ['retry', failed!, '--consumer', 'other', '--because', 'x'],
      ['retry', failed!, '--consumer', 'guarded', '--because', ' '],
      ['retry', String(pending), '--consumer', 'guarded', '--because', 'x'],
      ['reconcile', failed!, '--as', 'not-done', '--consumer', 'guarded', '--because', 'x'],
      ['reconcile', failed!, '--as', 'maybe', '--consumer', 'guarded', '--because', 'x'],
      ['show', 'x'],
      ['show', '999999999'],
    ]) {
      const { code, out } = await onceward(...args, '--json')
      assert.deepEqual([code, JSON.parse(out).ok], [2, false], args.join(' '))
    }
    assert.deepEqual(await scene.states('guarded'), { failed: 1, pending: 1 })
    const { rows } = await scene.pool.query(
      'select 1 from onceward.ledger_action join onceward.ledger on ledger.id = ledger_id where consumer_name = $1',
      ['guarded'],
    )
    assert.deepEqual(rows, [])
  })

  test('of two people at once one acts, and one reason is recorded', async () => {
    const ids = await waiting('raced', ['failed', 'unknown', 'reconciling'])
    for (const id of ids) {
      const order = (because: string) => ({ id, consumer: 'raced', because })
      const results = await Promise.allSettled([
        retryEffect(scene.pool, order('ada')),
        reconcileEffect(scene.pool, order('bob'), 'completed'),
        retryEffect(scene.pool, order('cyn')),
      ])
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
    }
    const { rows } = await scene.pool.query(
      'select ledger_id from onceward.ledger_action where ledger_id = any($1::bigint[])',
      [ids],
    )
    assert.equal(rows.length, 3)
  })
})
