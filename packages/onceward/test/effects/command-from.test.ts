import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { commandFrom } from 'onceward'
import type { PublishRequest } from '../../src/contract/publish-target.ts'

const event = { id: 'm-1', eventId: 'e-1', correlationId: 'chain-9' }
const options = { consumer: 'case_alerts', type: 'CreateSupervisorAlert', body: { caseId: '7' } }

describe('a command made from an event', () => {
  test('has the same id however often and under any message id it is created', () => {
    const command = commandFrom(event, options)
    assert.deepEqual(commandFrom({ ...event, id: 'm-2' }, options), command)
    assert.deepEqual(command, {
      id: command.id,
      type: 'CreateSupervisorAlert',
      body: { caseId: '7' },
      correlationId: 'chain-9',
      causationId: 'e-1',
      headers: { 'causation-id': 'e-1' },
    })
    assert.match(command.id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  test('is what effects.publish takes', () => {
    const request: PublishRequest = commandFrom(event, options)
    assert.deepEqual(request.body, { caseId: '7' })
  })

  test('keeps its id across versions: stored rows must be found again', () => {
    assert.equal(commandFrom(event, options).id, 'acbb2f50-afd4-8731-9246-25d5caa87496')
  })

  test('starts a correlation where the event has none, and falls back to the message id', () => {
    const { correlationId, causationId } = commandFrom(
      { id: 'm-1', eventId: null, correlationId: null },
      options,
    )
    assert.deepEqual([correlationId, causationId], ['m-1', 'm-1'])
  })

  test('is another command for another consumer, type, event or cause', () => {
    const ids = [
      commandFrom(event, options),
      commandFrom(event, { ...options, consumer: 'other' }),
      commandFrom(event, { ...options, type: 'Other' }),
      commandFrom({ ...event, eventId: 'e-2' }, options),
      commandFrom(event, { ...options, cause: ['case', 7, 2n] }),
    ].map(command => command.id)
    assert.equal(new Set(ids).size, ids.length)
    const again = commandFrom({ ...event, eventId: 'e-2' }, { ...options, cause: ['case', '7', 2] })
    assert.equal(again.id, ids[4])
  })

  test('is refused where a part of its cause is missing: all of them would be one command', () => {
    for (const part of [undefined, null, '', Number.NaN, {}] as never[])
      assert.throws(
        () => commandFrom(event, { ...options, cause: ['case', part] }),
        /commandFrom needs .*cause/,
      )
  })

  test('different parts of a cause never give the same id', () => {
    const parts = fc.array(fc.string({ unit: fc.constantFrom('a', '"', ','), minLength: 1, maxLength: 2 }), {
      minLength: 1,
      maxLength: 2,
    })
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        const [one, two] = [a, b].map(cause => commandFrom(event, { ...options, cause }).id)
        assert.equal(one === two, JSON.stringify(a) === JSON.stringify(b))
      }),
    )
  })

  test('without a type, consumer or cause is refused', () => {
    for (const wrong of [{ type: '' }, { consumer: '' }, { cause: [] }])
      assert.throws(() => commandFrom(event, { ...options, ...wrong }), /commandFrom needs a/)
  })
})
