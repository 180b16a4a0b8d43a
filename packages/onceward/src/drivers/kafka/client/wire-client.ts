import { setTimeout as pause } from 'node:timers/promises'
import type { TopicSettings } from '../topic.ts'
import { ClassicMembership } from './classic-membership.ts'
import type { KafkaConnectionOptions } from './connection-options.ts'
import { KafkaConnections } from './connections.ts'
import { ConsumerMembership } from './consumer-membership.ts'
import { fetchCommitted } from './fetch-committed.ts'
import type {
  Bounds,
  CommitAnswer,
  CommittedOffset,
  FetchEvents,
  Fetcher,
  KafkaClient,
  LogEnd,
  Member,
  Membership,
  MembershipEvents,
  OffsetToCommit,
  TopicFacts,
} from './kafka-client.ts'
import { answerOf, KafkaError, type KafkaTrouble, troubleOf, troubleOfCode } from './kafka-error.ts'
import { listOffsets, type OffsetAt } from './list-offsets.ts'
import { logEnds } from './log-ends.ts'
import { offsetCommitV9 } from './wire.ts'
import { WireFetcher } from './wire-fetcher.ts'

const unstableDelayMs = 50
/** Longer than a transaction takes to end. Offsets still pending then wait for a timeout, or forever. */
const unstableMaxMs = 5_000

/** The client that implements the wire protocol. */
export class WireClient implements KafkaClient {
  readonly #connections: KafkaConnections
  readonly #settings: TopicSettings

  constructor(options: KafkaConnectionOptions, settings: TopicSettings) {
    this.#settings = settings
    const { requestTimeoutMs, connectTimeoutMs, rebalanceTimeoutMs } = settings
    // A join is answered when the whole group has joined.
    const join = rebalanceTimeoutMs + requestTimeoutMs
    this.#connections = new KafkaConnections({ ...options, requestTimeoutMs, connectTimeoutMs }, { join })
  }

  async check(): Promise<void> {
    await this.#connections.check()
  }

  async describe(): Promise<TopicFacts | null> {
    const found = await this.#connections.findTopic(this.#settings.topic)
    if (found === null) return null
    const { id, partitions, cluster } = found
    return { id, partitions: partitions.length, ...(cluster !== null && { cluster }) }
  }

  async bounds(partitions: readonly number[]): Promise<ReadonlyMap<number, Bounds>> {
    const [starts, ends] = await Promise.all([
      this.#offsets(partitions, 'earliest'),
      this.#offsets(partitions, 'latest'),
    ])
    return new Map(
      partitions.map(partition => [
        partition,
        { start: starts.get(partition) ?? 0, end: ends.get(partition) ?? 0 },
      ]),
    )
  }

  logEnds(partitions: readonly number[]): Promise<ReadonlyMap<number, LogEnd>> {
    return logEnds(this.#connections, this.#settings.topic, partitions)
  }

  async offsetsSince(
    partitions: readonly number[],
    timestampMs: number,
  ): Promise<ReadonlyMap<number, number>> {
    const found = await this.#offsets(partitions, { timestampMs })
    const ends = await this.#offsets(partitions, 'latest')
    return new Map(partitions.map(partition => [partition, found.get(partition) ?? ends.get(partition) ?? 0]))
  }

  async committed(
    partitions: readonly number[],
    member: Member,
    options?: { readonly pending: 'ignored' },
  ): Promise<ReadonlyMap<number, CommittedOffset>> {
    const endMs = performance.now() + unstableMaxMs
    for (;;) {
      try {
        return await this.#askCommitted(partitions, member, options === undefined)
      } catch (error) {
        const { name } = troubleOf(error)
        const passes = name === 'UNSTABLE_OFFSET_COMMIT' || name === 'STALE_MEMBER_EPOCH'
        if (!passes || !member.live || performance.now() > endMs) throw error
        await pause(unstableDelayMs)
      }
    }
  }

  async commit(offsets: readonly OffsetToCommit[], member: Member): Promise<CommitAnswer> {
    const { group, instance, topic } = this.#settings
    const partitions = offsets.map(({ partition, offset, leaderEpoch, metadata }) => ({
      partitionIndex: partition,
      committedOffset: BigInt(offset),
      committedLeaderEpoch: leaderEpoch,
      committedMetadata: metadata,
    }))
    try {
      const answer = await this.#connections.atCoordinator('group', group, 'commit', async connection => {
        const asked = offsetCommitV9.api.async(connection, group, member.epoch, member.id, instance, [
          { name: topic, partitions },
        ])
        const { topics } = await answerOf(asked)
        const bad = topics.flatMap(one => one.partitions).find(({ errorCode }) => errorCode !== 0)
        if (bad !== undefined)
          throw new KafkaError(troubleOfCode(bad.errorCode), `${topic}/${bad.partitionIndex}`)
        return topics
      })
      return answer.length === 0 ? { kind: 'later', reason: 'an empty answer' } : { kind: 'confirmed' }
    } catch (error) {
      return answerTo(troubleOf(error))
    }
  }

  join(events: MembershipEvents): Membership {
    const Protocol = this.#settings.protocol === 'classic' ? ClassicMembership : ConsumerMembership
    return new Protocol(this.#connections, this.#settings, events)
  }

  fetcher(events: FetchEvents): Fetcher {
    return new WireFetcher({
      connections: this.#connections,
      settings: this.#settings,
      boundsOf: async partition => {
        const { end, leaderEpoch } = (await this.logEnds([partition])).get(partition)!
        const bounds = (await this.bounds([partition])).get(partition)!
        return { start: bounds.start, end: Math.max(bounds.end, end), leaderEpoch }
      },
      events,
    })
  }

  close(): Promise<void> {
    return this.#connections.close()
  }

  async #offsets(partitions: readonly number[], at: OffsetAt): Promise<Map<number, number>> {
    const { topic } = this.#settings
    const found = await listOffsets(this.#connections, topic, partitions, at, { isolation: 'uncommitted' })
    return new Map(
      found.flatMap(({ partition, offset }) => (offset === null ? [] : [[partition, Number(offset)]])),
    )
  }

  async #askCommitted(
    partitions: readonly number[],
    member: Member,
    requireStable: boolean,
  ): Promise<ReadonlyMap<number, CommittedOffset>> {
    const { group, topic, protocol } = this.#settings
    const asMember =
      protocol === 'classic'
        ? { memberId: null, memberEpoch: -1 }
        : { memberId: member.id, memberEpoch: member.epoch }
    return fetchCommitted(this.#connections, group, topic, partitions, { ...asMember, requireStable })
  }
}

function answerTo({ name, kind, retriable, text }: KafkaTrouble): CommitAnswer {
  if (name === 'UNKNOWN_MEMBER_ID' || name === 'FENCED_MEMBER_EPOCH' || kind === 'fenced')
    return { kind: 'fenced', reason: text }
  if (kind === 'member' || kind === 'topic' || retriable) return { kind: 'later', reason: text }
  return { kind: 'refused', reason: text }
}
