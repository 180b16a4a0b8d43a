import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { contribution, defineConsumer } from 'onceward'
import { topic } from 'onceward/kafka'
import { queue } from 'onceward/rabbitmq'
import type { Consumer, ConsumerContract } from '../../src/index.ts'
import { contractPage } from '../../src/review/page/contract-page.ts'
import { renderPage } from '../../src/review/page/render-page.ts'

type Message = { eventId: string; caseId: string; version: number }
const page = (changes: object) =>
  contractPage(
    defineConsumer<Message>({
      name: 'case_view',
      owner: 'case team',
      risk: 'projection',
      source: topic('case-events', { start: 'earliest', group: 'case-view-v1' }),
      identity: { id: m => m.eventId, orderKey: m => m.caseId },
      handle() {},
      ...changes,
    } as ConsumerContract<Message>) as unknown as Consumer,
  )
const section = (of: ReturnType<typeof page>, title: string) =>
  of.sections.find(one => one.title === title)!.text

const fromQueue = { source: queue('cases') }
const windows = (changes: object, window: object = {}) => ({
  handle: undefined,
  effect: {
    apply: contribution<Message>({
      ...{ facts: 'fact', summary: 'total', key: m => m.caseId, eventId: m => m.eventId },
      at: m => new Date(m.version),
      window: { sizeMs: 3_600_000, latenessMs: 60_000, late: 'stale', ...window },
      ...changes,
    }),
  },
})

describe('the one-page contract', () => {
  test('has every part of a consumer contract', () => {
    const titles = page({}).sections.map(({ title }) => title)
    for (const title of [
      'Name',
      'Input topic',
      'Group ID',
      'Partition key assumption',
      'Delivery target',
      'Side effect',
      'Idempotency key',
      'Commit point',
      'Duplicate behavior',
      'Out-of-order behavior',
      'Poison behavior',
      'Replay behavior',
      'Owner',
    ])
      assert.ok(titles.includes(title), title)
  })

  test('describes this consumer, not consumers in general', () => {
    const one = page({
      order: 'key',
      producer: 'portal',
      failure: { attemptsMax: 3, deadLetter: { to: 'case-dlq', owner: 'ops' }, exhausted: 'stop' },
      replay: {
        modes: ['rebuild'],
        window: '30d',
        tables: ['case_view'],
        effects: 'never',
        compare: { case_view: { mayChange: ['number'] } },
      },
      retention: { markers: '30d' },
      objectives: { lagMax: '2m' },
      effect: { publish: { out: { broker: 'kafka', topic: 'cases' } } },
    })
    assert.equal(section(one, 'Input topic'), 'Kafka topic case-events')
    assert.equal(section(one, 'Group ID'), 'case-view-v1')
    assert.match(section(one, 'Partition key assumption'), /share caseId/)
    assert.match(section(one, 'Idempotency key'), /message id: eventId/)
    assert.match(
      section(one, 'Poison behavior'),
      /class transient: retried without end; its lane waits; .*copied to case-dlq; ops is responsible/,
    )
    assert.match(
      section(one, 'Replay behavior'),
      /^allowed: rebuild; back to 30d; .* always suppressed; a rebuild makes case_view anew; a rebuild may change case_view\.number$/,
    )
    assert.match(section(one, 'Retention'), /^markers 30d/)
    assert.match(section(one, 'Objectives'), /longer than 2m/)
    assert.equal(section(one, 'Owner'), 'case team; dead letters: ops; producer: portal')
  })

  /** Values of options, and parts of effects, that every-option.test.ts does not reach. */
  const visible: Readonly<Record<string, readonly [before: object, after: object]>> = {
    'terminal ignored': [{}, { failure: { policies: { 'business conflict': { terminal: 'ignored' } } } }],
    'failure.brake': [{}, { failure: { brake: false } }],
    'identity.id content': [fromQueue, { ...fromQueue, identity: { id: 'content' } }],
    'effect.apply.after': [windows({}), windows({ after: () => {} })],
    'window.everyMs': [windows({}), windows({}, { everyMs: 600_000 })],
    'window.latenessMs': [windows({}), windows({}, { latenessMs: 600_000 })],
    'window.late': [windows({}), windows({}, { late: 'park' })],
  }
  for (const [option, [before, after]] of Object.entries(visible))
    test(`shows ${option}`, () => {
      assert.notEqual(renderPage(page(after)), renderPage(page(before)))
    })

  test('names who accepted a loss, and when messages are acknowledged', () => {
    const lossy = page({
      risk: 'low value',
      settle: { when: 'before effect', lossAcceptable: 'only a hint' },
    })
    assert.equal(section(lossy, 'Commit point'), 'before the effect; accepted because: only a hint')
    assert.match(section(page({ inbox: { mode: 'stored' } }), 'Commit point'), /stores the message/)
    assert.match(section(page({ settle: { when: 'with effect' } }), 'Commit point'), /position is written/)
  })

  test('shows no address and no secret', () => {
    const secret = page({
      source: queue('q', { url: 'amqp://shop:hunter2@broker/', managementUrl: 'http://a:hunter2@broker' }),
      effect: {
        external: {
          hook: {
            kind: 'webhook',
            url: 'https://hook.example/path?token=hunter2',
            secrets: { a: { env: 'S' } },
          },
        },
      },
    })
    assert.doesNotMatch(JSON.stringify(secret) + renderPage(secret), /hunter2/)
  })

  test('escapes mark-up in a contract', () => {
    const hostile = 'a | b\n# h <script>x</script> [x](http://e) `c` **d** _e_ \u001b[2J \u202e ~~f~~ & $m$'
    const text = renderPage(page({ owner: hostile, description: hostile, failure: { deadLetter: hostile } }))
    for (const row of text.split('\n').filter(line => line.startsWith('| Owner')))
      assert.equal(row.replaceAll('\\|', '').split('|').length, 4, row)
    assert.doesNotMatch(text, /<script|\p{Cf}|(?<!\\)\[x\]|(?<!\\)\*\*d|^# h/mu)
    assert.ok(!text.includes('\u001b'))
    assert.equal(text.split('\n').filter(line => line.startsWith('# ')).length, 1)
    const names = renderPage(page({ effect: { external: { 'p`a|y': { url: 'https://pay.example/' } } } }))
    assert.match(names, /external `` p`a\\\|y ``/)
  })
})
