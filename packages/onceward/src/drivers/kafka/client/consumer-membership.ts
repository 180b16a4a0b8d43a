import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { OncewardError } from '../../../errors.ts'
import type { TopicSettings } from '../topic.ts'
import { fencedInstance, unjoinable } from './classic-membership.ts'
import type { KafkaConnections } from './connections.ts'
import { GroupMember, now } from './group-member.ts'
import type { Membership, MembershipEvents } from './kafka-client.ts'
import { type KafkaTrouble, troubleOf } from './kafka-error.ts'
import { consumerGroupHeartbeatV1 } from './wire.ts'

const retryDelayMs = 300
type HeartbeatAnswer = ReturnType<typeof consumerGroupHeartbeatV1.parseResponse>

const [joinEpoch, leaveEpoch, leaveStaticEpoch] = [0, -1, -2]

/**
 * Membership by the consumer protocol (KIP-848): the broker assigns and heartbeats carry everything. The
 * member reports what it owns and the broker answers with its target. A revoked partition stays in the
 * member's list until it is finished and committed, and only then goes to another member.
 *
 *   joining ──epoch──▶ steady ◀──▶ draining
 *   any ──session expired locally──▶ silent: all dropped, heartbeats keep the epoch ──accepted──▶ steady
 *   any ──fenced or unknown member──▶ lost: everything dropped ──▶ joining
 *
 * A coordinator that moved knows the id and the epoch, so both are kept until a broker refuses them. The
 * broker refuses a static member that joins with epoch 0 until its old session ends (UNRELEASED_INSTANCE_ID).
 * So such a member leaves with -2 first.
 */
export class ConsumerMembership implements Membership {
  readonly #connections: KafkaConnections
  readonly #settings: TopicSettings
  readonly #events: MembershipEvents
  readonly #memberId = randomUUID()
  readonly #owned = new Set<number>()
  readonly #closed = new AbortController()
  readonly #ticker: NodeJS.Timeout
  #member: GroupMember | null = null
  #epoch = joinEpoch
  /** The broker may know this member: a join was sent, and no broker has reported it unknown since. */
  #isRegistered = false
  #wasMember = false
  #topicId = ''
  #target: ReadonlySet<number> | null = null
  #draining = false
  #wake: () => void = () => {}

  constructor(connections: KafkaConnections, settings: TopicSettings, events: MembershipEvents) {
    this.#connections = connections
    this.#settings = settings
    this.#events = events
    this.#ticker = setInterval(() => this.refresh(), settings.heartbeatMs)
    void this.#stay()
  }

  refresh(): void {
    const member = this.#member
    if (member !== null && !member.ended && member.isOverdue) {
      this.#lose(`no answer to a heartbeat for ${this.#settings.sessionTimeoutMs} ms`)
    }
  }

  /** The broker assigns all partitions again to a member that joins anew. */
  rejoin(reason: string): void {
    this.#lose(reason)
    this.#epoch = joinEpoch
    this.#wake()
  }

  /** The broker detects them and assigns them with a heartbeat. */
  partitionsAdded(): void {}

  async leave(): Promise<void> {
    clearInterval(this.#ticker)
    this.#closed.abort()
    this.#wake()
    this.#member?.end()
    if (!this.#isRegistered) return
    const epoch = this.#settings.instance === null ? leaveEpoch : leaveStaticEpoch
    await this.#send(epoch, []).catch(() => {})
  }

  async #stay(): Promise<void> {
    while (!this.#closed.signal.aborted) {
      let delayMs = retryDelayMs
      try {
        delayMs = Math.min(this.#settings.heartbeatMs, await this.#beat())
      } catch (error) {
        if (this.#closed.signal.aborted) return
        if (!this.#recover(troubleOf(error), error)) return
      }
      await this.#wait(delayMs)
    }
  }

  async #wait(delayMs: number): Promise<void> {
    const woken = new Promise<void>(resolve => {
      this.#wake = resolve
    })
    const early = new AbortController()
    await Promise.race([woken, pause(delayMs, undefined, { signal: early.signal }).catch(() => {})])
    early.abort()
  }

  /** Returns the delay until the next heartbeat in milliseconds. */
  async #beat(): Promise<number> {
    if (this.#member === null)
      this.#topicId = (await this.#connections.describeTopic(this.#settings.topic)).id
    const member = this.#member
    if (this.#epoch === joinEpoch) await this.#release()
    const epoch = this.#epoch
    this.#isRegistered = true
    const sent = now()
    const answer = await this.#send(epoch, [...this.#owned])
    if (this.#member !== member || this.#epoch !== epoch || this.#closed.signal.aborted) return 0
    this.#epoch = answer.memberEpoch
    this.#wasMember = true
    if (member === null) {
      const { sessionTimeoutMs } = this.#settings
      this.#member = new GroupMember(this.#memberId, answer.memberEpoch, sessionTimeoutMs)
    } else {
      member.epoch = answer.memberEpoch
      member.good(sent)
    }
    this.#events.onConnected()
    if (answer.assignment !== null) await this.#retarget(answer.assignment.topicPartitions)
    return this.#reconcile() ? 0 : answer.heartbeatIntervalMs
  }

  /**
   * Releases this process's own instance, so the next join is not refused. If the instance belongs to another
   * process, the join reports it.
   */
  async #release(): Promise<void> {
    if (!this.#isRegistered || this.#settings.instance === null) return
    try {
      await this.#send(leaveStaticEpoch, [])
    } catch (error) {
      const { name } = troubleOf(error)
      const isOthers = name === 'FENCED_INSTANCE_ID' && !this.#wasMember
      if (name !== 'UNKNOWN_MEMBER_ID' && name !== 'GROUP_ID_NOT_FOUND' && !isOthers) throw error
    }
  }

  #send(epoch: number, owned: readonly number[]): Promise<HeartbeatAnswer> {
    const { group, instance, rebalanceTimeoutMs, topic } = this.#settings
    const leaves = epoch < joinEpoch
    const held = owned.length === 0 ? [] : [{ topicId: this.#topicId, partitions: [...owned] }]
    return this.#connections.atCoordinator('group', group, 'heartbeat', connection =>
      consumerGroupHeartbeatV1.api.async(
        connection,
        group,
        this.#memberId,
        epoch,
        instance,
        null,
        rebalanceTimeoutMs,
        leaves ? null : [topic],
        null,
        null,
        held,
      ),
    )
  }

  /** A topic that was created again has another id; the owned partitions belong to the deleted one. */
  async #retarget(assigned: readonly { topicId: string; partitions: number[] }[]): Promise<void> {
    if (assigned.some(({ topicId }) => topicId !== this.#topicId)) {
      const { id } = await this.#connections.describeTopic(this.#settings.topic)
      if (id !== this.#topicId) {
        const lost = [...this.#owned]
        this.#owned.clear()
        this.#topicId = id
        if (lost.length > 0) this.#events.onLost(lost, 'the topic was deleted and created again')
      }
    }
    const ours = assigned.filter(({ topicId }) => topicId === this.#topicId)
    this.#target = new Set(ours.flatMap(({ partitions }) => partitions))
  }

  /** True when the next heartbeat should be sent at once. */
  #reconcile(): boolean {
    const [member, target] = [this.#member, this.#target]
    if (member === null || target === null || this.#draining) return false
    const revoked = [...this.#owned].filter(partition => !target.has(partition))
    const added = [...target].filter(partition => !this.#owned.has(partition))
    for (const partition of added) this.#owned.add(partition)
    if (added.length > 0) this.#events.onAssigned(added, member)
    if (revoked.length > 0) void this.#drain(revoked, member)
    return added.length > 0
  }

  async #drain(revoked: readonly number[], member: GroupMember): Promise<void> {
    this.#draining = true
    await this.#events.onRevoked(revoked)
    if (this.#member !== member) return
    for (const partition of revoked) this.#owned.delete(partition)
    this.#draining = false
    this.#wake()
  }

  /** False when no further attempt is possible. */
  #recover(trouble: KafkaTrouble, error: unknown): boolean {
    if (trouble.name === 'FENCED_INSTANCE_ID') return this.#refuse(fencedInstance(this.#settings))
    if (trouble.kind === 'credentials' || trouble.kind === 'version' || trouble.name.startsWith('INVALID_')) {
      return this.#refuse(unjoinable(error, this.#settings))
    }
    // For a member, the group was deleted after being empty. For a joining process, the group has another
    // type.
    const isGone = trouble.name === 'GROUP_ID_NOT_FOUND' && this.#epoch !== joinEpoch
    if (trouble.name === 'GROUP_ID_NOT_FOUND' && !isGone)
      return this.#refuse(unjoinable(error, this.#settings))
    if (trouble.name === 'UNRELEASED_INSTANCE_ID') {
      this.#events.onWarning(
        `instance ${this.#settings.instance} is still a member: this process joins when it leaves or its session ends`,
      )
    } else if (isGone || trouble.name === 'FENCED_MEMBER_EPOCH' || trouble.name === 'UNKNOWN_MEMBER_ID') {
      this.#isRegistered &&= trouble.name === 'FENCED_MEMBER_EPOCH'
      this.#epoch = joinEpoch
      this.#lose(trouble.text)
    } else this.#events.onDisconnected(trouble.text)
    return true
  }

  #refuse(error: OncewardError): false {
    this.#lose(error.message)
    clearInterval(this.#ticker)
    this.#closed.abort()
    this.#events.onRefused(error)
    return false
  }

  #lose(reason: string): void {
    this.#member?.end()
    this.#member = null
    this.#target = null
    this.#draining = false
    const lost = [...this.#owned]
    this.#owned.clear()
    if (lost.length > 0) this.#events.onLost(lost, reason)
  }
}
