import type { TopicSettings } from '../topic.ts'
import { assignPartitions, type JoinedMember, type TopicPartitions } from './assign-partitions.ts'
import type { KafkaConnections } from './connections.ts'
import type { GroupMember } from './group-member.ts'
import { answerOf, KafkaError, troubleOfCode } from './kafka-error.ts'
import {
  type Connection,
  decodeConsumerProtocolAssignment,
  decodeConsumerProtocolSubscription,
  encodeConsumerProtocolAssignment,
  encodeConsumerProtocolSubscription,
  heartbeatV4,
  joinGroupV9,
  leaveGroupV5,
  syncGroupV5,
} from './wire.ts'

const protocolName = 'cooperative-sticky'
const memberIdRequired = 79
const unknownTopic = 3

type JoinGroupResponse = ReturnType<typeof joinGroupV9.parseResponse>

export interface Joined {
  readonly memberId: string
  readonly generation: number
  /** The assignments of all members when this member is the leader; empty otherwise. */
  readonly assignments: readonly { readonly memberId: string; readonly assignment: Buffer }[]
}

/** The requests of the classic protocol for one topic. They reject with the broker's error. */
export class ClassicRequests {
  readonly #connections: KafkaConnections
  readonly #settings: TopicSettings

  constructor(connections: KafkaConnections, settings: TopicSettings) {
    this.#connections = connections
    this.#settings = settings
  }

  /**
   * Resolves when the whole group has joined. A first join is sent twice: the broker returns the id before it
   * counts the member.
   */
  async join(memberId: string, owned: readonly number[], generation: number): Promise<Joined> {
    const { topic } = this.#settings
    const metadata = encodeConsumerProtocolSubscription({
      version: 3,
      topics: [topic],
      ownedPartitions: owned.length === 0 ? [] : [{ topic, partitions: [...owned] }],
      generationId: generation,
      rackId: null,
    })
    let answer = await this.#sendJoin(memberId, metadata)
    if (answer.errorCode === memberIdRequired) answer = await this.#sendJoin(answer.memberId, metadata)
    if (answer.errorCode !== 0) throw new KafkaError(troubleOfCode(answer.errorCode), 'joining the group')
    const leads = answer.leader === answer.memberId && !answer.skipAssignment
    return {
      memberId: answer.memberId,
      generation: answer.generationId,
      assignments: leads ? await this.#assign(answer) : [],
    }
  }

  /** This member's partitions in this generation, as the leader assigned them. */
  async sync({ memberId, generation, assignments }: Joined): Promise<readonly number[]> {
    const { group, instance, topic } = this.#settings
    const { assignment } = await this.#ask('join', connection =>
      syncGroupV5.api.async(connection, group, generation, memberId, instance, 'consumer', protocolName, [
        ...assignments,
      ]),
    )
    return decodeConsumerProtocolAssignment(assignment)
      .assignedPartitions.filter(one => one.topic === topic)
      .flatMap(({ partitions }) => partitions)
  }

  async heartbeat({ id, epoch }: GroupMember): Promise<void> {
    const { group, instance } = this.#settings
    await this.#ask('heartbeat', connection => heartbeatV4.api.async(connection, group, epoch, id, instance))
  }

  async leave(memberId: string): Promise<void> {
    const member = { memberId, groupInstanceId: null, reason: 'closed' }
    await this.#ask('heartbeat', connection =>
      leaveGroupV5.api.async(connection, this.#settings.group, [member]),
    )
  }

  #sendJoin(memberId: string, metadata: Buffer): Promise<JoinGroupResponse> {
    const { group, instance, sessionTimeoutMs, rebalanceTimeoutMs } = this.#settings
    return this.#ask('join', async connection => {
      const asked = joinGroupV9.api.async(
        connection,
        group,
        sessionTimeoutMs,
        rebalanceTimeoutMs,
        memberId,
        instance,
        'consumer',
        [{ name: protocolName, metadata }],
        '',
      )
      const answer = await answerOf(asked)
      if (answer.errorCode === 0 || answer.errorCode === memberIdRequired) return answer
      throw new KafkaError(troubleOfCode(answer.errorCode), 'joining the group')
    })
  }

  async #assign({ members }: JoinGroupResponse): Promise<Joined['assignments']> {
    const joined = members.map(({ memberId, metadata }) => asJoined(memberId, metadata))
    const counts = new Map<string, number>()
    for (const topic of new Set(joined.flatMap(({ topics }) => topics))) {
      const found = await this.#connections.findTopic(topic)
      if (found !== null) counts.set(topic, found.partitions.length)
      // A broker that has just started may not know the topic yet. With an empty assignment, the group would
      // never retry.
      else if (topic === this.#settings.topic)
        throw new KafkaError(troubleOfCode(unknownTopic), `assigning topic ${topic}`)
    }
    return [...assignPartitions(joined, counts)].map(([memberId, assigned]) => ({
      memberId,
      assignment: encodeConsumerProtocolAssignment({
        version: 3,
        assignedPartitions: assigned.map(({ topic, partitions }) => ({ topic, partitions: [...partitions] })),
      }),
    }))
  }

  #ask<T>(purpose: 'join' | 'heartbeat', request: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#connections.atCoordinator('group', this.#settings.group, purpose, request)
  }
}

function asJoined(id: string, metadata: Buffer): JoinedMember {
  const { topics, ownedPartitions, generationId } = decodeConsumerProtocolSubscription(metadata)
  return { id, topics, owned: ownedPartitions as readonly TopicPartitions[], generation: generationId }
}
