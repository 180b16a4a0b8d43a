import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeConsumerProtocolAssignment, encodeConsumerProtocolSubscription } from '@platformatic/kafka'
import { ClassicRequests } from '../../src/drivers/kafka/client/classic-requests.ts'

const subscription = encodeConsumerProtocolSubscription({
  version: 3,
  topics: ['orders'],
  ownedPartitions: [],
  generationId: -1,
  rackId: null,
})

/**
 * A broker that makes us the leader of a group of one; `known` says how many partitions it knows of the
 * topic.
 */
function leading(known: () => number | null) {
  const answer = {
    errorCode: 0,
    generationId: 1,
    leader: 'me',
    memberId: 'me',
    skipAssignment: false,
    members: [{ memberId: 'me', groupInstanceId: null, metadata: subscription }],
  }
  const connections = {
    atCoordinator: async () => answer,
    findTopic: async () => {
      const partitions = known()
      return partitions === null ? null : { partitions: Array.from({ length: partitions }) }
    },
  }
  return new ClassicRequests(connections as never, { topic: 'orders', group: 'g', instance: null } as never)
}

test('a leader whose broker does not know the topic yet assigns nothing and asks again', async () => {
  let known: number | null = null
  const requests = leading(() => known)
  await assert.rejects(requests.join('me', [], -1), /orders/)
  known = 2
  const { assignments } = await requests.join('me', [], -1)
  const [mine] = decodeConsumerProtocolAssignment(assignments[0]!.assignment).assignedPartitions
  assert.deepEqual(mine!.partitions, [0, 1])
})
