import type { KafkaConnections } from './connections.ts'
import type { CommittedOffset } from './kafka-client.ts'
import { offsetFetchV9 } from './wire.ts'

/** The requester: a member of the group, or an observer. */
interface Asking {
  readonly memberId: string | null
  readonly memberEpoch: number
  /** The broker refuses while a transaction may still change an offset. */
  readonly requireStable: boolean
}

const observer: Asking = { memberId: null, memberEpoch: -1, requireStable: false }

/** The offsets that a group has committed. A partition without an entry has no offset. */
export async function fetchCommitted(
  connections: KafkaConnections,
  group: string,
  topic: string,
  partitions: readonly number[],
  { requireStable, ...member }: Asking = observer,
): Promise<ReadonlyMap<number, CommittedOffset>> {
  const topics = [{ name: topic, partitionIndexes: [...partitions] }]
  const { groups } = await connections.atCoordinator('group', group, 'commit', connection =>
    offsetFetchV9.api.async(connection, [{ groupId: group, ...member, topics }], requireStable),
  )
  const found = groups[0]?.topics.flatMap(one => one.partitions) ?? []
  return new Map(
    found
      .filter(({ committedOffset }) => committedOffset >= 0n)
      .map(one => [
        one.partitionIndex,
        {
          offset: Number(one.committedOffset),
          leaderEpoch: one.committedLeaderEpoch,
          metadata: one.metadata ?? '',
        },
      ]),
  )
}
