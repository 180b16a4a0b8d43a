import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { outOfRange } from '../../src/drivers/kafka/loss.ts'
import { takePartitions } from '../../src/drivers/kafka/take-partitions.ts'
import { settingsOf, topic } from '../../src/drivers/kafka/topic.ts'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { aMember, clientRig } from './kafka-client-rig.ts'

/** What commits of partition 0 carry when the group was found with this beside its offset. */
async function metadataAfter(found: string): Promise<string> {
  const { client } = clientRig()
  const [taken] = await takePartitions(
    {
      client: {
        ...client,
        committed: async () => new Map([[0, { offset: 5, leaderEpoch: -1, metadata: found }]]),
      },
      settings: settingsOf(topic('t', { start: 'latest' }), { name: 'c', generation: 1 }),
      log: { progress: 'broker', checkpoints: new MemoryCheckpoints() },
    },
    [0],
    aMember(),
  )
  return taken!.metadata
}

describe('the metadata of an offset', () => {
  test('has the number of partitions at the start, also in a group that was taken over from another client', async () => {
    assert.equal(await metadataAfter(''), 'onceward partitions=2')
  })

  test('is preserved', async () => {
    assert.equal(await metadataAfter('onceward partitions=1'), 'onceward partitions=1')
    assert.equal(await metadataAfter('somebody else’s'), 'somebody else’s')
  })
})

test('a member that left before the broker answered takes nothing', async () => {
  const { client } = clientRig()
  const checkpoints = new MemoryCheckpoints()
  const member = { ...aMember(), live: true }
  const frozen = async () => {
    member.live = false
    return new Map()
  }
  const settings = settingsOf(topic('t', { start: 'earliest' }), { name: 'c', generation: 1 })
  const options = {
    client: { ...client, committed: frozen },
    settings,
    log: { progress: 'broker', checkpoints },
  } as const
  await assert.rejects(takePartitions(options, [0], member), /no longer a member/)
  assert.equal((await checkpoints.take(['t/0']))[0]!.epoch, 1)
})

describe('an open loss whose records are older than its declaration, at a position without a leader epoch', () => {
  const settings = settingsOf(topic('t', { start: 'earliest' }), { name: 'c', generation: 1 })
  const declared = async (reason: string, accepted: boolean, progress: 'store' | 'only' = 'store') => {
    const { client } = clientRig()
    const checkpoints = new MemoryCheckpoints()
    const [{ epoch } = { epoch: 0 }] = await checkpoints.take(['t/0'])
    const [from, to] = ['5', '2'].map(next => ({ incarnation: 'i', next }))
    await checkpoints.begin('t/0', epoch, from!)
    await checkpoints.declareLoss({ partition: 't/0', from: from!, to: to!, records: null, reason })
    if (accepted) checkpoints.acceptLoss('t/0')
    const log = { progress, checkpoints } as const
    const older = { ...client, offsetsSince: async () => new Map([[0, 10]]) }
    const [taken] = await takePartitions({ client: older, settings, log }, [0], aMember())
    return taken!
  }
  const bounds = { start: 0, end: 10 }
  const at = { incarnation: 'i', next: '5' }
  const ended = 'the log ends at 2, before our position'
  const { reason: rewritten } = outOfRange(
    't/0',
    at,
    { kind: 'truncated', at: 2, leaderEpoch: 3, bounds },
    'store',
  )!

  test('is no loss: it is read there, without markers also when it was accepted', async () => {
    for (const [accepted, progress] of [
      [false, 'store'],
      [false, 'only'],
      [true, 'only'],
    ] as const) {
      const { decision, isSameLog } = await declared(ended, accepted, progress)
      assert.deepEqual([decision.kind === 'read' && decision.offset, isSameLog], [5, true])
    }
  })

  test('goes back once accepted where markers recognise what is read again', async () => {
    const { decision } = await declared(ended, true)
    assert.equal(decision.kind === 'read' && decision.offset, 2)
  })

  test('stays lost when the log was written anew: the records that replaced ours are as old', async () => {
    const { decision, isSameLog } = await declared(rewritten, false)
    assert.deepEqual([decision.kind === 'lost' && decision.loss.reason, isSameLog], [rewritten, undefined])
  })

  test('goes back once accepted when the log was written anew', async () => {
    const { decision } = await declared(rewritten, true)
    assert.equal(decision.kind === 'read' && decision.offset, 2)
  })
})
