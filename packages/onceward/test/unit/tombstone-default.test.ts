import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ConsumerContract, defineConsumer } from 'onceward'
import { z } from 'zod'

const tombstonesOf = (message?: ConsumerContract<never>['message']) =>
  defineConsumer<never>({
    name: 'states',
    owner: 'unit',
    risk: 'low value',
    source: { kind: 'kafka' },
    identity: { id: 'position' },
    ...(message !== undefined && { message }),
    handle() {},
  }).message.tombstones

const object = z.object({ name: z.string() })

test('records without a body are handled where the message type includes null, as the schema says', () => {
  const given = [
    [undefined, 'quarantine'],
    [object, 'quarantine'],
    [z.unknown(), 'quarantine'],
    [object.nullable(), 'handle'],
    [{ schema: object.nullable() }, 'handle'],
    [{ schema: object.nullable(), tombstones: 'quarantine' }, 'quarantine'],
    [{ schema: object, tombstones: 'handle' }, 'handle'],
    [z.null().transform(() => ({ name: '' })), 'quarantine'],
    [object.nullable().refine(async () => true), 'quarantine'],
  ] as const
  for (const [message, expected] of given) assert.equal(tombstonesOf(message as never), expected)
})
