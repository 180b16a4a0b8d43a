import type { OncewardError } from '../../../errors.ts'
import type { LogRecord } from '../../../ports/log-record.ts'
import type { PartitionProgress } from '../../log/partition-progress.ts'

/**
 * The parts of a Kafka client that the source needs, for one topic and one group: membership, committed
 * offsets, records. The present implementation uses the wire protocol; another could use librdkafka.
 */
export interface KafkaClient {
  /** Resolves when a broker with the needed versions has answered. Rejects with an OncewardError. */
  check(): Promise<void>
  /** The present topic; null when it does not exist. Rejects with the broker's error. */
  describe(): Promise<TopicFacts | null>
  /** The first available offset and the end of each partition. */
  bounds(partitions: readonly number[]): Promise<ReadonlyMap<number, Bounds>>
  /** The end of each leader's whole log, beyond its high watermark, and the epoch under which it leads. */
  logEnds(partitions: readonly number[]): Promise<ReadonlyMap<number, LogEnd>>
  /** The first offset at or after a time; the end of the partition when all its records are older. */
  offsetsSince(partitions: readonly number[], timestampMs: number): Promise<ReadonlyMap<number, number>>
  /**
   * The group's committed offsets, once no transaction may still change them, unless pending ones are
   * ignored. A partition without an entry has no offset.
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
  /** Reads the partitions that are added to it. */
  fetcher(events: FetchEvents): Fetcher
  close(): Promise<void>
}

export interface TopicFacts {
  readonly id: string
  readonly partitions: number
  /** Id of the cluster; absent when the brokers do not report it. */
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
 * `confirmed`: the broker stored the offsets. `later`: refused for now, to be repeated while the member is
 * live. `fenced`: the membership has ended. `refused`: an operator has to act.
 */
export type CommitAnswer =
  | { readonly kind: 'confirmed' }
  | { readonly kind: 'later' | 'fenced' | 'refused'; readonly reason: string }

/**
 * One membership in the group, from a join until the broker may have reassigned its partitions. The broker
 * accepts a live member's commit for another member's partition, so every commit requires a live membership.
 */
export interface Member {
  readonly id: string
  /**
   * Generation of the classic protocol, member epoch of the consumer protocol. Grows while the member is
   * live.
   */
  readonly epoch: number
  /** False once the broker has ended it, or once the last confirmed heartbeat is older than the session. */
  readonly live: boolean
}

export interface MembershipEvents {
  /** These partitions are assigned to this member. Not awaited. */
  onAssigned(partitions: readonly number[], member: Member): void
  /** Finish and commit: another member gets the partitions once this resolves. Heartbeats continue. */
  onRevoked(partitions: readonly number[]): Promise<void>
  /** Another member may own them already. */
  onLost(partitions: readonly number[], reason: string): void
  /** The group answered, for the first time or again. Called often. */
  onConnected(): void
  onDisconnected(reason: string): void
  onWarning(reason: string): void
  /** The membership makes no further attempt. */
  onRefused(error: OncewardError): void
}

export interface Membership {
  /** Ends the member if its session has expired, as after a freeze. Cheap; called before every delivery. */
  refresh(): void
  /** Joins again without a request from the broker, to leave an inconsistent state. */
  rejoin(reason: string): void
  /** The topic has more partitions than before: ensures that the group assigns them. */
  partitionsAdded(): void
  /** Leaves the group, except for a static member, which may return. Never rejects. */
  leave(): Promise<void>
}

export interface FetchEvents {
  /** True when the partition has room for records. */
  wants(progress: PartitionProgress): boolean
  onRecords(progress: PartitionProgress, records: readonly LogRecord[], readOn: number): void
  /**
   * The leader has answered for the first requested offset, once per reading. `sameLog`: it knows the epoch
   * of the record before.
   */
  onServed?(progress: PartitionProgress, offset: number, sameLog: boolean): void
  /** The log has no record at the requested offset: before its start, past its end, or rewritten since. */
  onOutOfRange(progress: PartitionProgress, at: number, found: OutOfRange): void
  /** The same batch could not be decoded several times. */
  onUnreadable(progress: PartitionProgress, batch: UnreadableAt): void
  /** The broker does not know the topic id. */
  onTopicGone(): void
  onWarning(reason: string): void
  /** This user lacks the permission to read. */
  onRefused(error: OncewardError): void
}

/** A batch that cannot be decoded. */
export interface UnreadableAt {
  readonly at: number
  /** Where the log continues after it; null when that cannot be determined. */
  readonly next: number | null
  readonly reason: string
  readonly bytes: Buffer
}

export type OutOfRange =
  | { readonly kind: 'bounds'; readonly bounds: Bounds }
  /**
   * The leader's log is not the one that was read; the two diverge at `at`, null when the leader does not
   * know.
   */
  | {
      readonly kind: 'truncated'
      readonly at: number | null
      readonly leaderEpoch: number
      readonly bounds: Bounds
    }

export interface Fetcher {
  /** Reads the partition from this offset. `leaderEpoch`: of the record before it, -1 when unknown. */
  add(partition: number, progress: PartitionProgress, offset: number, leaderEpoch: number): void
  remove(partition: number): void
  /** There may be room again. */
  wake(): void
  /** The end of the readable records; null while unknown. */
  endOf(partition: number): number | null
  /** Leader epoch of the record before this offset; -1 when unknown. */
  leaderEpochAt(partition: number, offset: number): number
  /** The next offset to read; null when the partition is not read. */
  positionOf(partition: number): number | null
  /** Time since the broker's last answer about the partition, or since it was added. */
  silentMs(partition: number): number
  /** For how long an answer about the partition has been due; 0 when none is. */
  owedMs(partition: number): number
  /** Discards requests in progress and known leaders, and starts again. */
  restart(): void
  close(): void
}
