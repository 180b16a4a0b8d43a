import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type ConsumerContract,
  defineConsumer,
  type Envelope,
  reject,
  runConsumer,
  type SqlTransaction,
} from 'onceward'
import { createQueue, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import { archiveDead, folderOf } from './archive-scene.ts'
import { type Fact, Scene } from './scene.ts'

describe('a campaign from the archive', await skipWithout('postgres'), () => {
  test('delivers a message as it was: bytes, headers, key, identity, origin', async t => {
    const scene = await Scene.open(t)
    await createQueue(scene.pool, 'letters')
    const seen: { mode: string; message: Fact; envelope: Envelope }[] = []
    const contract: ConsumerContract<Fact, SqlTransaction> = {
      name: 'letters',
      owner: 'tests',
      risk: 'projection',
      source: postgresQueue('letters'),
      identity: {
        id: { property: 'messageId' },
        aggregateId: (_, { key }) => key ?? '',
        type: { header: 'kind' },
      },
      message: { digestHeaders: ['kind'] },
      handle: ({ mode, message, envelope }) => {
        seen.push({ mode, message, envelope })
        if (mode === 'live') return reject('never')
      },
    }
    const consumer = defineConsumer(contract)
    const headers = { kind: 'opened', count: 7, nested: { of: ['a', null] } }
    const properties = { timestampMs: Date.now(), contentType: 'application/json', correlationId: 'c' }
    const body = Buffer.from('{"id": "in the body",  "key": "ü"}')
    await publish(scene.pool, 'letters', [{ messageId: 'm-1', key: 'k', headers, properties, body }])
    const running = await runConsumer(consumer, { databaseUrl: scene.url, parts: ['consumer'] })
    await until('it is dead', async () => (await scene.rows('select from onceward.held')).length === 1)
    await running.drain()
    const digests = `select encode(digest, 'hex') as digest from onceward.inbox where message_id = 'm-1'`
    const before = await scene.rows(digests)
    // Mended by somebody meanwhile: it is still the message its marker knows.
    await scene.pool.query(`update onceward.held set body = $1`, [
      Buffer.from('{"id":"in the body","key":"mended"}'),
    ])
    await archiveDead(scene, { name: 'letters' })
    const replay = await scene.replay(consumer as never)
    const id = await scene.planned(replay, { selection: { of: 'archive', path: folderOf(scene) } })
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { applied: 1 })
    const [live, replayed] = seen
    const { redelivered: _, position: none, ...came } = plain(live!.envelope)
    const { redelivered, position, ...back } = plain(replayed!.envelope)
    assert.deepEqual(back, came)
    assert.deepEqual([back.id, back.aggregateId, back.type, none], ['m-1', 'k', 'opened', null])
    assert.deepEqual([redelivered, /^letters\.deadLetters\..*, line 1$/.test(position!)], [true, true])
    assert.deepEqual([live!.message.key, replayed!.message.key], ['ü', 'mended'])
    assert.deepEqual(await scene.rows(digests), before)
  })
})

/** Envelopes are read when asked. */
const plain = (envelope: Envelope): Envelope =>
  Object.fromEntries(envelopeNames.map(name => [name, envelope[name]])) as unknown as Envelope

const envelopeNames = [
  'id',
  'businessKey',
  'orderKey',
  'aggregateId',
  'correlationId',
  'type',
  'headers',
  'properties',
  'origin',
  'position',
  'redelivered',
] as const
