import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { encodeConsumerProtocolAssignment, protocolErrors } from '@platformatic/kafka'
import { ClassicMembership } from '../../src/drivers/kafka/client/classic-membership.ts'
import type { MembershipEvents } from '../../src/drivers/kafka/client/kafka-client.ts'
import { KafkaError, troubleOfCode } from '../../src/drivers/kafka/client/kafka-error.ts'
import { settingsOf, topic } from '../../src/drivers/kafka/topic.ts'
import { until } from '../../src/testing/until.ts'

const joined = { errorCode: 0, generationId: 1, leader: 'other', memberId: 'me', members: [] }
const synced = {
  assignment: encodeConsumerProtocolAssignment({
    version: 3,
    assignedPartitions: [{ topic: 't', partitions: [0] }],
  }),
}

/**
 * A member of one generation, whose next join waits for another member without an end. Heartbeats are
 * answered with `refusals` in turn.
 */
function rig(t: TestContext, refusals: readonly string[]) {
  const seen = { heartbeats: 0, connected: 0, events: [] as string[] }
  const joins: unknown[] = [joined, synced]
  const connections = {
    atCoordinator: async (_kind: string, _group: string, purpose: 'join' | 'heartbeat') => {
      if (purpose === 'join') return joins.shift() ?? new Promise(() => {})
      const name = refusals[Math.min(seen.heartbeats++, refusals.length - 1)]!
      throw new KafkaError(troubleOfCode(protocolErrors[name]!.code), 'heartbeat')
    },
  }
  const events: MembershipEvents = {
    onAssigned: partitions => void seen.events.push(`assigned ${partitions}`),
    onRevoked: async () => {},
    onLost: (_, reason) => void seen.events.push(`lost: ${reason}`),
    onConnected: () => void seen.connected++,
    onDisconnected: reason => void seen.events.push(`disconnected: ${reason}`),
    onWarning: reason => void seen.events.push(reason),
    onRefused: error => void seen.events.push(error.message),
  }
  const settings = settingsOf(topic('t', { heartbeatMs: 100 }), { name: 'c', generation: 1 })
  const membership = new ClassicMembership(connections as never, settings, events)
  t.after(() => membership.leave())
  return seen
}

for (const later of ['REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION']) {
  test(`the group counts as responsive while a rebalance waits for another member: ${later}`, async t => {
    const seen = rig(t, ['REBALANCE_IN_PROGRESS', later])
    await until('it has asked often', () => seen.heartbeats >= 6)
    assert.ok(seen.connected >= 5, `heard ${seen.connected} times in ${seen.heartbeats} heartbeats`)
    assert.deepEqual(seen.events, ['assigned 0'])
  })
}
