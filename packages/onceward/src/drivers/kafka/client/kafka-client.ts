import type { OncewardError } from '../../../errors.ts'
import type { LogRecord } from '../../../ports/log-record.ts'
import type { PartitionProgress } from '../../log/partition-progress.ts'

/**
 * All the source needs of a Kafka client, for one topic and one group: who is a member, what is committed,
 * and the records. One implementation speaks the wire itself; another could sit on librdkafka.
 */
export interface KafkaClient {
  /** Resolves when a broker has answered that speaks what is needed. Rejects with an OncewardError. */
  check(): Promise<void>
  /** The topic as it is now; null when there is none. Rejects with what went wrong. */
  describe(): Promise<TopicFacts | null>
  /** First offset still there and the end of each partition. */
  bounds(partitions: readonly number[]): Promise<ReadonlyMap<number, Bounds>>
  /**
   * The end of each leader's whole log, also of what it may not hand over yet, and the epoch under which it
   * leads.
   */
  logEnds(partitions: readonly number[]): Promise<ReadonlyMap<number, LogEnd>>
  /** Offsets of a moment; the end of the partition when all its records are older. */
  offsetsSince(partitions: readonly number[], timestampMs: number): Promise<ReadonlyMap<number, number>>
  /**
   * What the group has committed, once no transaction is about to change it, unless those are to be ignored.
   * A partition without an entry has nothing.
   */
  committed(
    partitions: readonly number[],
    member: Member,
    options?: { readonly pending: 'ignored' },
  ): Promise<ReadonlyMap<number, CommittedOffset>>
  /** One attempt. Never rejects. */
  commit(offsets: readonly OffsetToCommit[], member: Member): Promise<CommitAnswer>
  /** Joins the group and stays in it until `leave`. */
  join(events: MembershipEvents): Membership
  /** Reads whatever is added to it. */
  fetcher(events: FetchEvents): Fetcher
  close(): Promise<void>
}

export interface TopicFacts {
  readonly id: string
  readonly partitions: number
  /** Id of the cluster; absent where the brokers do not say. */
  readonly cluster?: string
}

export interface Bounds {
  readonly start: number
  readonly end: number
}

export interface LogEnd {
  readonly end: number
  readonly leaderEpoch: number
}

export interface CommittedOffset {
  readonly offset: number
  /** Leader epoch of the record before it; -1 when unknown. */
  readonly leaderEpoch: number
  readonly metadata: string
}

export interface OffsetToCommit {
  readonly partition: number
  readonly offset: number
  readonly leaderEpoch: number
  readonly metadata: string
}

/**
 * `told`: the broker has it. `later`: refused for now, worth repeating while the member lives. `fenced`: the
 * member is none any more. `refused`: a person has to act.
 */
export type CommitAnswer =
  | { readonly kind: 'told' }
  | { readonly kind: 'later' | 'fenced' | 'refused'; readonly reason: string }

/**
 * One membership in the group, from a join to the moment the broker may have given our partitions away. The
 * broker accepts a live member's commit for a partition of another, so whoever commits has to hold a live one
 * of these.
 */
export interface Member {
  readonly id: string
  /** Generation of the classic protocol, member epoch of the other. Grows while the member lives. */
  readonly epoch: number
  /** False once the broker has said so, or once the last good heartbeat is older than the session. */
  readonly live: boolean
}

export interface MembershipEvents {
  /** These partitions are ours. Not waited for. */
  onAssigned(partitions: readonly number[], member: Member): void
  /** Finish and commit: another gets them once this resolves. Heartbeats go on. */
  onRevoked(partitions: readonly number[]): Promise<void>
  /** They may be another's already. */
  onLost(partitions: readonly number[], reason: string): void
  /** The group answers, for the first time or again. Called often. */
  onConnected(): void
  onDisconnected(reason: string): void
  onWarning(reason: string): void
  /** There will be no further attempt. */
  onRefused(error: OncewardError): void
}

export interface Membership {
  /**
   * Ends the member if its session is over, as after a freeze. Cheap; called before anything is handed over.
   */
  refresh(): void
  /** Joins anew although nobody asked, to get out of a state that should not be. */
  rejoin(reason: string): void
  /** The topic has more partitions than before: sees to it that the group hands them out. */
  partitionsAdded(): void
  /** Tells the group, unless a static member means to come back. Never rejects. */
  leave(): Promise<void>
}

export interface FetchEvents {
  /** True when records of the partition are welcome. */
  wants(progress: PartitionProgress): boolean
  onRecords(progress: PartitionProgress, records: readonly LogRecord[], readOn: number): void
  /**
   * The leader has answered for the first offset that was asked for, once per reading. `sameLog`: it knows
   * the epoch of the record before.
   */
  onServed?(progress: PartitionProgress, offset: number, sameLog: boolean): void
  /** The log has no record at our offset: before its start, past its end, or rewritten since. */
  onOutOfRange(progress: PartitionProgress, at: number, found: OutOfRange): void
  /** The same batch could not be read several times. */
  onUnreadable(progress: PartitionProgress, batch: UnreadableAt): void
  /** Asked for a topic id the broker does not know. */
  onTopicGone(): void
  onWarning(reason: string): void
  /** This user may not read. */
  onRefused(error: OncewardError): void
}

/** A batch that nobody can read. */
export interface UnreadableAt {
  readonly at: number
  /** Where the log goes on behind it; null where nobody can tell. */
  readonly next: number | null
  readonly reason: string
  readonly bytes: Buffer
}

export type OutOfRange =
  | { readonly kind: 'bounds'; readonly bounds: Bounds }
  /** The leader's log is not the one we read; the two part at `at`, null when it cannot say. */
  | {
      readonly kind: 'truncated'
      readonly at: number | null
      readonly leaderEpoch: number
      readonly bounds: Bounds
    }

export interface Fetcher {
  /** Reads the partition from this offset on. `leaderEpoch`: of the record before it, -1 when unknown. */
  add(partition: number, progress: PartitionProgress, offset: number, leaderEpoch: number): void
  remove(partition: number): void
  /** There may be room again. */
  wake(): void
  /** The end of what may be handed over; null while unknown. */
  endOf(partition: number): number | null
  /** Leader epoch of the record before this offset; -1 when unknown. */
  leaderEpochAt(partition: number, offset: number): number
  /** Where reading goes on; null when the partition is not read. */
  positionOf(partition: number): number | null
  /** Since the broker last said anything about the partition, or since it was added. */
  silentMs(partition: number): number
  /** For how long the broker has owed an answer about the partition; 0 while it owes none. */
  owedMs(partition: number): number
  /** Forgets what is under way and what is known of leaders, and begins anew. */
  restart(): void
  close(): void
}
