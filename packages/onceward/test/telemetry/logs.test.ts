import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { jsonLine, textOf } from '../../src/telemetry/log-line.ts'
import { ConsumerRig } from '../unit/consumer-rig.ts'

const at = new Date(0)
const nasty = 'a\n{"level":"error"}\r\u001b[2J\u0007\u009b31m\u2028\u202eevil\u0000'

describe('a log line', () => {
  test('is one line of JSON with any fields, and can be parsed back', () => {
    const line = jsonLine('info', nasty, { messageId: nasty, 'na\nme': 1 }, at)
    assert.match(line, /^[\x20-\x7e]*$/)
    const read = JSON.parse(line)
    assert.deepEqual(read, {
      at: at.toISOString(),
      level: 'info',
      message: nasty,
      messageId: nasty,
      'na\nme': 1,
    })
  })

  test('keeps its own fields: another field with one of their names is renamed', () => {
    const read = JSON.parse(
      jsonLine('warn', 'true words', { message: 'lie', level: 'info', at: 'never' }, at),
    )
    assert.deepEqual([read.message, read.level, read.at], ['true words', 'warn', at.toISOString()])
    assert.deepEqual([read.message_, read.level_, read.at_], ['lie', 'info', 'never'])
  })

  test('is one line as text too, without control sequences', () => {
    const text = textOf({ messageId: nasty, plain: 'x-1', spaced: 'a b', count: 3, none: null })
    assert.match(text, /^[\x20-\x7e]*$/)
    assert.match(text, /plain=x-1 spaced="a b" count=3 none=null$/)
    assert.ok(text.startsWith('messageId="a\\u000a{'))
  })

  test('never holds bytes, is never endless, and takes any value', () => {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    const hostile = { toString: () => assert.fail(), toJSON: () => assert.fail() }
    const read = JSON.parse(
      jsonLine(
        'info',
        'm',
        {
          body: Buffer.from('secret'),
          long: 'x'.repeat(1_000_000),
          big: 10n,
          circle,
          hostile,
          error: new Error('why'),
          many: Array.from({ length: 100_000 }, () => 'y'),
        },
        at,
      ),
    )
    assert.equal(read.body, '<6 bytes>')
    assert.equal(read.long.length, 4_001)
    assert.equal(read.big, '10')
    assert.equal(read.error, 'Error: why')
    assert.ok(JSON.stringify(read).length < 20_000)
  })
})

describe('decisions in the log', () => {
  const decisions = (rig: ConsumerRig) =>
    rig.env.lines.filter(({ message }) => message.startsWith('message '))

  test('carry the identities and the decision, and nothing of the body', async () => {
    const rig = new ConsumerRig()
    rig.publish({ id: 'a' }, { id: 'a' }, { id: 'a', key: 'other' })
    await rig.start()
    await rig.env.turn()
    const [duplicate, conflict, none] = decisions(rig)
    assert.equal(none, undefined, 'what simply got through is not worth a line')
    assert.equal(duplicate!.level, 'debug')
    assert.deepEqual(duplicate!.fields, {
      consumer: 'notes',
      messageId: 'a',
      businessKey: null,
      dedupDecision: 'DUPLICATE_SAME_PAYLOAD',
      redelivered: false,
      correlationId: null,
      causationId: null,
      outcome: 'duplicate',
    })
    assert.equal(conflict!.level, 'warn')
    assert.equal(conflict!.fields.dedupDecision, 'DUPLICATE_OTHER_PAYLOAD')
    assert.equal(conflict!.fields.outcome, 'quarantined')
  })

  test('are few for any number of messages that a batch sets aside', async () => {
    const rig = new ConsumerRig()
    rig.publish({ id: 'a' }, ...Array.from({ length: 100 }, () => ({ id: 'a' })))
    await rig.start()
    await rig.env.turn()
    assert.equal(decisions(rig).length, 10)
    const more = rig.env.lines.find(({ message }) => message.startsWith('more messages'))
    assert.deepEqual(more!.fields.count, 90)
  })
})
