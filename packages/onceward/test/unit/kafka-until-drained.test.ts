import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bounds, CommittedOffset } from '../../src/drivers/kafka/client/kafka-client.ts'
import { untilDrained } from '../../src/drivers/kafka/until-drained.ts'
import { aMember } from './kafka-client-rig.ts'

const at = (offset: number): CommittedOffset => ({ offset, leaderEpoch: -1, metadata: '' })
const boundsOf = (some: readonly number[]): ReadonlyMap<number, Bounds> =>
  new Map(some.map(partition => [partition, { start: 0, end: 10 }]))

/** Partition 2 was added and waits for 0 and 1, of which the group has 0 up to its end. */
function wait(limitMs: number, answers: { bounds?: typeof boundsOf; looks?: number }) {
  const told: string[] = []
  let looks = 0
  const found = untilDrained({
    client: {
      describe: async () => ({ id: 'i', partitions: 3 }),
      bounds: async some => (answers.bounds ?? boundsOf)(some),
      committed: async () => {
        if (++looks > (answers.looks ?? Infinity)) throw new Error('the coordinator is away')
        return new Map([
          [0, at(10)],
          [1, at(4)],
        ])
      },
    },
    member: aMember(),
    partition: 2,
    limitMs,
    // Far behind the limit, so that a wait without an end fails here.
    waits: () => looks < 20,
    onTrouble: reason => told.push(reason),
  })
  return { found, told }
}

test('an added partition waits for the records that the others had when it was found, not for newer ones', async () => {
  let looks = 0
  const found = untilDrained({
    client: {
      describe: async () => ({ id: 'i', partitions: 2 }),
      bounds: async some => new Map(some.map(partition => [partition, { start: 0, end: 10 * looks }])),
      // Found at 10; the next look has all of that but one, the one after it all.
      committed: async () => new Map([[0, at([0, 0, 9, 10][looks++] ?? 10)]]),
    },
    member: aMember(),
    partition: 1,
    limitMs: 5_000,
    waits: () => looks < 10,
    onTrouble: reason => assert.fail(reason),
  })
  assert.deepEqual([await found, looks], [{ kind: 'drained' }, 4])
})

const offline = () => {
  throw new Error('t/1: LEADER_NOT_AVAILABLE')
}

test('an added partition waits no longer than its limit while another has no leader, and says why once', async () => {
  const { found, told } = wait(1_000, { bounds: offline })
  assert.deepEqual(await found, { kind: 'late', behind: [] })
  assert.deepEqual(told, ['Error: t/1: LEADER_NOT_AVAILABLE'])
})

test('the lag of the last successful query is named when later ones fail', async () => {
  const { found, told } = wait(1_000, { looks: 2 })
  assert.deepEqual(await found, { kind: 'late', behind: [1] })
  assert.deepEqual(told, ['Error: the coordinator is away'])
})
