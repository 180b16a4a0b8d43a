import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
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
