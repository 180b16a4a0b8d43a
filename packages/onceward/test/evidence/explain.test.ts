import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { defineConsumer, ignore, runConsumer } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { explain } from '../../src/evidence/explain.ts'
import type { ExplainQuestion } from '../../src/evidence/explanation.ts'
import { fixPayload } from '../../src/operations/parking/fix-parked.ts'
import { listParked } from '../../src/operations/parking/list-parked.ts'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { runRedrive, startRedrive } from '../../src/operations/parking/redrive-parked.ts'
import { pause } from '../parking/parked-scene.ts'
import { People } from '../parking/people.ts'
import { skipWithout } from '../services/services.ts'
import type { Payment } from './capture.ts'
import { contractFile, type Evidence, openEvidence } from './evidence-scene.ts'

const bad = { id: 'pay-1', order: 'order-1', amount: 'ten' }
const longId = `long-${'x'.repeat(3_000)}`

/** Duplicated, failed, parked, fixed, replayed, effected, and duplicated once more. */
async function liveThrough(scene: Evidence): Promise<void> {
  const { pool, capture } = scene
  await scene.send('payment_capture', bad, bad)
  const running = await scene.start()
  await until('it is parked', async () => (await scene.count(`onceward.held where state = 'parked'`)) > 0)
  await scene.settled('payment_capture')
  const [row] = await listParked(pool, { consumer: 'payment_capture', countMax: 1 })
  const body = Buffer.from(JSON.stringify({ ...bad, amount: 10 }))
  await pool.query('select onceward.create_roles()')
  await pool.query('insert into onceward.person (role_name) values (session_user)')
  const fix = { id: row!.id, body, because: 'the amount was spelt out' }
  const { approval } = await fixPayload(pool, capture, fix)
  const people = new People(pool, scene.url)
  await people.approve(approval!)
  await people.close()
  const { digest } = await previewParked(pool, { consumer: 'payment_capture', countMax: 10 })
  const order = { requestId: 'mend-1', consumer: 'payment_capture', ids: [row!.id], digest, perSecond: null }
  await startRedrive(pool, { ...order, because: 'mended' })
  await runRedrive(pool, 'mend-1', { pause })
  await until(
    'the gateway has answered',
    async () => (await scene.count(`onceward.ledger where state = 'completed'`)) > 0,
  )
  await until('the receipt has left', async () => (await scene.count('onceward.outbox')) === 0)
  await scene.send(
    'payment_capture',
    bad,
    { id: 'pay-2', order: 'order-1', amount: 10 },
    { id: longId, order: 'order-3', amount: 3 },
  )
  await scene.settled('payment_capture')
  await running.drain()
}

/** The same message at another consumer, which needs no effect. */
async function audited(scene: Evidence): Promise<void> {
  await scene.send('payment_audit', bad)
  const consumer = defineConsumer<Payment>({
    name: 'payment_audit',
    owner: 'audit',
    risk: 'low value',
    source: postgresQueue('payment_audit'),
    identity: { id: m => m.id },
    handle: () => ignore('only refunds are audited', 'not_a_refund'),
  })
  const running = await runConsumer(consumer, { databaseUrl: scene.url })
  await scene.settled('payment_audit')
  await running.drain()
}

describe('onceward explain', await skipWithout('postgres'), () => {
  let scene: Evidence
  before(async () => {
    scene = await openEvidence()
    await liveThrough(scene)
    await audited(scene)
  })
  after(() => scene.close())

  const storyOf = (
    answer: { readonly stories: readonly { readonly consumer: string }[] },
    consumer: string,
  ) =>
    answer.stories.find(story => story.consumer === consumer) as never as {
      summary: string
      answers: { asked: string; answer: string | null; from: string }[]
      timeline: {
        at: string | null
        what: string
        by: string | null
        text: string
        facts: Record<string, unknown>
      }[]
    }

  it('shows the whole story of a message, in the order in which it happened', async () => {
    const answer = await scene.json('explain', '--message', 'pay-1', '--contract', contractFile)
    assert.equal(answer.exit, 0)
    const { timeline, summary } = storyOf(answer, 'payment_capture')
    const whats = timeline.map(entry => entry.what)
    const inTurn = [
      'attempt 1 failed',
      'attempt 2 failed',
      'parked',
      'fixed payload',
      'redrive requested',
      'redrive moved',
      'applied',
      'external effect requested',
      'external effect completed',
    ]
    assert.deepEqual(
      whats.filter(what => inTurn.includes(what)),
      inTurn,
      whats.join(', '),
    )
    assert.ok(whats.indexOf('arrived') < whats.indexOf('parked'))
    const found = (what: string) => timeline.filter(entry => entry.what === what)
    assert.match(
      found('published')[0]!.text,
      /^to postgres\/receipts under id [0-9a-f-]{36}; the broker has confirmed it$/,
    )
    assert.match(found('repeated').at(-1)!.text, /the last of 2 times|\(the first of|delivered again/)
    assert.equal(found('parked')[0]!.facts.code, 'parked')
    assert.match(found('parked')[0]!.text, /E_AMOUNT/)
    assert.equal(found('attempt 1 failed')[0]!.facts.handlerVersion, '1.4.0')
    assert.ok(found('fixed payload')[0]!.by)
    assert.match(
      found('external effect completed')[0]!.text,
      /gateway\/capture:pay-1: answered 20\d after 1 call/,
    )
    assert.match(
      summary,
      /pay-1 at payment_capture, generation 1, is applied.* by version 1\.4\.0, with 2 failed attempts, 2 repeated deliveries/,
    )
  })

  it('names the destination of what waits in the outbox, and reports that no relay runs', async () => {
    const destination = 'rabbitmq:eu-1/orders'
    await scene.pool.query(
      `insert into onceward.outbox (broker, destination, bucket, queue, message_id, body)
       values ('rabbitmq', $1, 0, 'dead', 'pay-1', 'x')`,
      [destination],
    )
    const answer = await scene.json('explain', '--message', 'pay-1', '--contract', contractFile)
    await scene.pool.query('delete from onceward.outbox where destination = $1', [destination])
    const [waiting] = storyOf(answer, 'payment_audit').timeline.filter(({ what }) => /outbox/.test(what))
    assert.equal(
      waiting!.text,
      'to rabbitmq/dead at rabbitmq:eu-1/orders under id pay-1, not confirmed by the broker yet; no relay is connected there',
    )
    assert.equal(waiting!.facts.destination, destination)
  })

  it('names the row that a message in the outbox waits behind, and counts those behind a refused one', async () => {
    const put = (id: string, failures: number) =>
      scene.pool.query(
        `insert into onceward.outbox (broker, destination, bucket, queue, message_id, key, failures, last_error, body)
         values ('kafka', 'kafka:eu', 0, 'dead', $1, 'k', $2, 'too large', 'x')`,
        [id, failures],
      )
    const textOf = async () => {
      const answer = await scene.json('explain', '--message', 'pay-1', '--contract', contractFile)
      return storyOf(answer, 'payment_audit').timeline.find(({ what }) => /outbox/.test(what))!.text
    }
    await put('other', 3)
    await put('pay-1', 0)
    assert.match(
      await textOf(),
      /not confirmed by the broker yet; waits behind other, which the broker refuses/,
    )
    await scene.pool.query(`delete from onceward.outbox where destination = 'kafka:eu'`)
    await put('pay-1', 3)
    await put('other', 0)
    assert.match(await textOf(), /refused 3 times: too large; 1 later ones of its key wait behind it/)
    await scene.pool.query(`delete from onceward.outbox where destination = 'kafka:eu'`)
  })

  it("answers each of an auditor's questions, or says why it cannot", async () => {
    const answer = await scene.json('explain', '--message', 'pay-1', '--contract', contractFile)
    const { answers } = storyOf(answer, 'payment_capture')
    const of = Object.fromEntries(answers.map(({ asked, answer }) => [asked, answer]))
    assert.deepEqual(
      [
        of['source event id'],
        of['transform version'],
        of.decision,
        of['sink rows'],
        of['replay or backfill'],
      ],
      ['pay-1', '1.4.0', 'applied', '1 of reconcile.effects', 'live, redriven 1 time'],
    )
    assert.ok(of['ingested at']! < of['processed at']!)
    assert.equal(of.consumer, 'payment_capture, generation 1')
    for (const one of answers) assert.notEqual(one.from, '')
    const reason = answers.find(({ asked }) => asked === 'reason')!
    assert.deepEqual([reason.answer, reason.from], ['it was new', 'the marker'])
  })

  it('distinguishes consumers, with the reason why there is no effect', async () => {
    const answer = await scene.json('explain', '--message', 'pay-1')
    assert.deepEqual(
      answer.stories.map((story: { consumer: string }) => story.consumer),
      ['payment_audit', 'payment_capture'],
    )
    const { answers } = storyOf(answer, 'payment_audit')
    assert.equal(
      answers.find(one => one.asked === 'reason')!.answer,
      'not_a_refund: only refunds are audited',
    )
    const only = await scene.json('explain', '--message', 'pay-1', '--consumer', 'payment_audit')
    assert.deepEqual([only.stories.length, only.absences.length], [1, 0])
  })

  it('finds the message behind a business key, an effect and a row', async () => {
    const ids = async (question: ExplainQuestion) =>
      (await explain(scene.pool, question)).stories.map(story => story.messageId)
    assert.deepEqual(await ids({ by: 'business key', key: 'order-1' }), ['pay-1'])
    assert.deepEqual(await ids({ by: 'effect', key: 'capture:pay-1', target: null }), ['pay-1'])
    assert.deepEqual(await ids({ by: 'effect', key: 'capture:pay-1', target: 'gateway' }), ['pay-1'])
    assert.deepEqual(await ids({ by: 'effect', key: 'capture:pay-1', target: 'other' }), [])
    assert.deepEqual(await ids({ by: 'row', table: 'payment', key: 'pay-1' }), ['pay-1'])
    const { rows } = await scene.pool.query('select current_schema() as schema')
    const byRow = await scene.json('explain', '--row', `${rows[0].schema}.payment:{"id": "pay-1"}`)
    assert.equal(byRow.stories[0].messageId, 'pay-1')
    assert.equal(
      storyOf(byRow, 'payment_capture').answers.find(one => one.asked === 'sink rows')!.answer,
      'payment {"id":"pay-1"}',
    )
    const twin = await explain(scene.pool, { by: 'message', id: 'pay-2' })
    assert.equal(
      storyOf(twin, 'payment_capture').answers.find(one => one.asked === 'reason')!.answer,
      'same business key as pay-1',
    )
  })

  it('prints text without bodies and without control sequences', async () => {
    const { code, stdout } = await scene.run('explain', '--message', 'pay-1', '--contract', contractFile)
    assert.equal(code, 0)
    assert.ok(!stdout.includes('\u001b'))
    assert.match(stdout, /source event id +pay-1/)
    assert.match(stdout, /attempt 2 failed .*E_AMOUNT/)
    assert.match(stdout, /redrive moved .*returned to workers/)
    assert.ok(!stdout.includes('"amount"'))
    const whole = await scene.run('explain', '--message', 'pay-1', '--payload')
    assert.match(whole.stdout, /"amount":10/)
  })

  it('reports that a message never arrived', async () => {
    const { code, stdout } = await scene.run('explain', '--message', 'nobody-sent-this')
    assert.equal(code, 1)
    assert.match(
      stdout,
      /payment_capture, generation 1: It never arrived: no delivery of it was committed here since this consumer was registered on 20/,
    )
    const answer = await explain(scene.pool, { by: 'row', table: 'payment', key: 'pay-1' })
    assert.equal(answer.absences.length, 0)
  })

  it('finds long ids by their hash, and refuses an invalid id', async () => {
    const long = await scene.json('explain', '--message', longId)
    assert.match(long.storedAs, /^sha256:[0-9a-f]{64}$/)
    assert.equal(long.stories[0].messageId, long.storedAs)
    assert.equal((await scene.json('explain', '--message', long.storedAs)).stories.length, 1)
    const hostile = await scene.run('explain', '--message', 'a\u001b[2Jb')
    assert.equal(hostile.code, 2)
    assert.match(hostile.stderr, /control character/)
    assert.ok(!hostile.stderr.includes('[2Jb'))
    for (const id of ['a\0b', ' padded', 'x'.repeat(5_000), '\ud800', ''])
      await assert.rejects(explain(scene.pool, { by: 'message', id }), { code: 'usage' })
    for (const id of ["'; drop table payment; --", '$1', '%s', '{"a":1}', '__proto__', '𝕏']) {
      const { stories, absences } = await explain(scene.pool, { by: 'message', id })
      assert.deepEqual([stories.length, absences.length], [0, 2], id)
    }
  })

  it('suggests the nearest name for a misspelt one', async () => {
    const slip = async (...args: string[]) => {
      const { exit, error } = await scene.json('explain', ...args)
      assert.equal(exit, 2, error)
      return error as string
    }
    assert.match(
      await slip('--message', 'x', '--consumer', 'payment_captur'),
      /did you mean "payment_capture"/i,
    )
    assert.match(await slip('--message', 'x', '--effect', 'y'), /exactly one/)
    assert.match(await slip('--row', 'payment'), /table:key/)
    const refused = (table: string, key: string | Record<string, string>, message: RegExp) =>
      assert.rejects(explain(scene.pool, { by: 'row', table, key }), { code: 'usage', message })
    await refused('plain', '1', /do not carry their cause/)
    await refused('no_such_table', '1', /does not exist/)
    await refused('payment', 'nobody', /no such row/)
    await refused('payment_line', '1', /primary key of 2 columns/)
    await refused('payment_line', { paymnt_id: '1' }, /did you mean payment_id/)
    await refused('payment_line', { payment_id: 'a', line: 'x' }, /invalid input syntax/)
    await refused('"; drop table payment', '1', /./)
    await refused('payment where true', '1', /./)
  })
})
