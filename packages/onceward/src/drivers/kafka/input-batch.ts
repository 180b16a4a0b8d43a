import type { LogRecord } from '../../ports/log-record.ts'
import type { LogDelivery } from '../log/log-delivery.ts'
import type { Member } from './client/kafka-client.ts'
import type { ConsumedOffset } from './client/transactions.ts'
import type { PartitionLease } from './committer.ts'

/** Records of one transaction and the offsets after them. */
export interface InputBatch {
  readonly records: readonly LogDelivery[]
  readonly offsets: readonly ConsumedOffset[]
  /**
   * The membership when the records were taken: the broker refuses the offsets of a member that has left
   * since.
   */
  readonly member: Member
  readonly leases: ReadonlyMap<InputLease, TakenRecords>
}

/** The records of one partition in a batch, and the position after them. */
export interface TakenRecords {
  readonly records: readonly LogRecord[]
  readonly next: number
}

/** A partition that is read, with the records that wait for a batch. */
export interface InputLease extends PartitionLease {
  records: LogRecord[]
  bytes: number
  readOn: number
  stopped: boolean
  /** The first record of the outstanding batch. */
  open: LogRecord | null
}

const recordOverhead = 200

export function bytesOf(records: readonly LogRecord[]): number {
  return records.reduce((bytes, { body }) => bytes + body.length + recordOverhead, 0)
}

/** Moves the first records of a partition into a batch. */
export function takeRecords(lease: InputLease, max: number): TakenRecords {
  const records = lease.records.splice(0, max)
  lease.bytes -= bytesOf(records)
  lease.open = records[0]!
  return { records, next: lease.records.length === 0 ? lease.readOn : Number(records.at(-1)!.next) }
}

/** Records that are delivered again, before all others of their partition. */
export function putBack(lease: InputLease, records: readonly LogRecord[]): void {
  lease.records.unshift(...records)
  lease.bytes += bytesOf(records)
}

/** The records of a batch that are in these parts of its partitions. */
export function partOf(
  batch: InputBatch,
  leases: ReadonlyMap<InputLease, TakenRecords>,
): Omit<InputBatch, 'offsets'> {
  const kept = new Set([...leases.values()].flatMap(({ records }) => records.map(({ position }) => position)))
  const records = batch.records.filter(({ position }) => kept.has(position))
  return { records, member: batch.member, leases }
}
