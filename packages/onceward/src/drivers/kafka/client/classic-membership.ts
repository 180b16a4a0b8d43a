import { setTimeout as pause } from 'node:timers/promises'
import { OncewardError } from '../../../errors.ts'
import type { TopicSettings } from '../topic.ts'
import { ClassicRequests, type Joined } from './classic-requests.ts'
import type { KafkaConnections } from './connections.ts'
import { GroupMember, type Moment, now } from './group-member.ts'
import type { Membership, MembershipEvents } from './kafka-client.ts'
import { type KafkaTrouble, toOncewardError, troubleOf } from './kafka-error.ts'

const retryDelayMs = 300
const memberDelayMs = 10

/**
 * Membership by the classic protocol with cooperative rebalances.
 *
 *   joining ──all have joined──▶ syncing ──assignment──▶ steady ──rebalance──▶ joining
 *                                   └─ something revoked ▶ draining ──finished and committed──▶ joining
 *   any ──unknown member, old generation, session expired──▶ lost: everything dropped ──▶ joining
 *   any ──fenced instance, no permission──▶ refused, final
 *
 * Heartbeats continue in every state on a separate connection. The broker answers a join only when every
 * other member has drained, which may take longer than the session. Partitions that stay assigned continue to
 * be read meanwhile.
 */
export class ClassicMembership implements Membership {
  readonly #requests: ClassicRequests
  readonly #settings: TopicSettings
  readonly #events: MembershipEvents
  readonly #owned = new Set<number>()
  readonly #closed = new AbortController()
  readonly #ticker: NodeJS.Timeout
  #memberId = ''
  #member: GroupMember | null = null
  #phase: 'joining' | 'syncing' | 'steady' | 'draining' = 'joining'
  #beating = false
  #interrupt = Promise.withResolvers<void>()

  constructor(connections: KafkaConnections, settings: TopicSettings, events: MembershipEvents) {
    this.#requests = new ClassicRequests(connections, settings)
    this.#settings = settings
    this.#events = events
    this.#ticker = setInterval(() => this.#tick(), settings.heartbeatMs)
    void this.#stay()
  }

  refresh(): void {
    const member = this.#member
    if (member !== null && !member.ended && member.isOverdue) {
      this.#lose(`no answer to a heartbeat for ${this.#settings.sessionTimeoutMs} ms`)
    }
  }

  rejoin(): void {
    if (this.#phase === 'steady') this.#interrupt.resolve()
  }

  /** The group's leader counts them when every member joins. */
  partitionsAdded(): void {
    this.rejoin()
  }

  async leave(): Promise<void> {
    clearInterval(this.#ticker)
    this.#closed.abort()
    this.#interrupt.resolve()
    const memberId = this.#memberId
    this.#member?.end()
    if (memberId !== '' && this.#settings.instance === null)
      await this.#requests.leave(memberId).catch(() => {})
  }

  async #stay(): Promise<void> {
    while (!this.#closed.signal.aborted) {
      try {
        this.#phase = 'joining'
        await this.#follow(await this.#joinAndSync())
      } catch (error) {
        if (this.#closed.signal.aborted) return
        const trouble = troubleOf(error)
        if (!this.#recover(trouble, error)) return
        const delayMs = trouble.kind === 'member' ? memberDelayMs : retryDelayMs
        await pause(delayMs, undefined, { signal: this.#closed.signal }).catch(() => {})
      }
    }
  }

  async #joinAndSync(): Promise<readonly number[]> {
    const epoch = this.#owned.size === 0 ? -1 : this.#member!.epoch
    const joined = await this.#requests.join(this.#memberId, [...this.#owned], epoch)
    if (this.#closed.signal.aborted) throw new Error('closed')
    this.#phase = 'syncing'
    this.#admit(joined)
    const sent = now()
    const assigned = await this.#requests.sync(joined)
    if (this.#member !== null) this.#heard(this.#member, sent)
    return assigned
  }

  #admit({ memberId, generation }: Joined): void {
    this.#memberId = memberId
    if (this.#member !== null && this.#member.id !== memberId)
      this.#lose('the broker assigned another member id')
    if (this.#member === null)
      this.#member = new GroupMember(memberId, generation, this.#settings.sessionTimeoutMs)
    else this.#member.epoch = generation
  }

  /** Resolves when it is time to join again. */
  async #follow(assigned: readonly number[]): Promise<void> {
    const member = this.#member
    if (member === null) return
    this.#interrupt = Promise.withResolvers()
    const revoked = [...this.#owned].filter(partition => !assigned.includes(partition))
    const added = assigned.filter(partition => !this.#owned.has(partition))
    for (const partition of added) this.#owned.add(partition)
    this.#phase = revoked.length > 0 ? 'draining' : 'steady'
    this.#events.onConnected()
    if (added.length > 0) this.#events.onAssigned(added, member)
    if (revoked.length === 0) return this.#interrupt.promise
    await Promise.race([this.#events.onRevoked(revoked), this.#interrupt.promise])
    for (const partition of revoked) this.#owned.delete(partition)
  }

  #tick(): void {
    this.refresh()
    const member = this.#member
    if (this.#beating || member === null) return
    this.#beating = true
    void this.#beat(member).finally(() => {
      this.#beating = false
    })
  }

  async #beat(member: GroupMember): Promise<void> {
    const sent = now()
    const { epoch } = member
    const phase = this.#phase
    try {
      await this.#requests.heartbeat(member)
      this.#heard(member, sent)
    } catch (error) {
      if (this.#member !== member || this.#closed.signal.aborted) return
      const trouble = troubleOf(error)
      const moved = member.epoch !== epoch || this.#phase !== phase
      if (trouble.name === 'REBALANCE_IN_PROGRESS') {
        this.#heard(member, sent)
        if (phase === 'steady' && !moved) this.#interrupt.resolve()
        // The generation ends on the broker before the member learns of it; this answer still confirms the
        // membership.
      } else if (trouble.name === 'ILLEGAL_GENERATION' && (moved || phase === 'joining'))
        this.#heard(member, sent)
      else this.#recover(trouble, error)
    }
  }

  /** The coordinator's answer confirmed this membership. */
  #heard(member: GroupMember, sent: Moment): void {
    member.good(sent)
    if (member.live) this.#events.onConnected()
  }

  /** False when no further attempt is possible. */
  #recover(trouble: KafkaTrouble, error: unknown): boolean {
    if (trouble.name === 'FENCED_INSTANCE_ID') return this.#refuse(fencedInstance(this.#settings))
    if (trouble.kind === 'credentials' || trouble.kind === 'version' || trouble.name.startsWith('INVALID_')) {
      return this.#refuse(unjoinable(error, this.#settings))
    }
    if (trouble.name === 'INCONSISTENT_GROUP_PROTOCOL') return this.#refuse(otherProtocol(this.#settings))
    if (trouble.name === 'UNKNOWN_MEMBER_ID') this.#memberId = ''
    if (trouble.name === 'UNKNOWN_MEMBER_ID' || trouble.name === 'ILLEGAL_GENERATION')
      this.#lose(trouble.text)
    else if (trouble.name !== 'REBALANCE_IN_PROGRESS') this.#events.onDisconnected(trouble.text)
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
    const lost = [...this.#owned]
    this.#owned.clear()
    if (lost.length > 0) this.#events.onLost(lost, reason)
    this.#interrupt.resolve()
  }
}

export function fencedInstance({ group, instance }: TopicSettings): OncewardError {
  return new OncewardError(
    'configuration',
    `Another process has joined group ${group} as instance ${instance}. This process settles and commits nothing more. Give every process its own instance.`,
    { details: { group, instance } },
  )
}

export function unjoinable(error: unknown, { group }: TopicSettings): OncewardError {
  const said = toOncewardError(error, `Joining group ${group}`, 'Nothing was read or committed.')
  return said.code === 'configuration'
    ? said
    : new OncewardError('configuration', said.message, { cause: error, details: said.details })
}

function otherProtocol({ group }: TopicSettings): OncewardError {
  return new OncewardError(
    'configuration',
    `The members of group ${group} do not support Onceward's partition assignor. Nothing was read or committed. Give every member the cooperative-sticky assignor (classic protocol), or choose another group.`,
    { details: { group } },
  )
}
