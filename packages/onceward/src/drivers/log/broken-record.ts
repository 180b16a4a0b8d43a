import { bareCopy } from '../../message/bare-map.ts'
import { unreadableEncoding } from '../../message/unreadable.ts'
import type { LogRecord } from '../../ports/log-record.ts'

/** The largest unreadable part of a log that is quarantined with its bytes; a larger one is a loss. */
export const keptBytesMax = 32 * 1024 * 1024

export interface BrokenPart {
  readonly partition: string
  readonly offset: number
  /** The offsets it covers: those of the records it should hold. */
  readonly records: number
  readonly bytes: Buffer
  readonly problem: string
  readonly timestampMs?: number
  readonly redelivered: boolean
}

/**
 * Bytes of a log that are not records, in the place of those records. No codec sees them; they are
 * quarantined.
 */
export function brokenRecord(part: BrokenPart): LogRecord {
  const { partition, offset, records, bytes, problem, timestampMs, redelivered } = part
  const what = records === 1 ? 'a record' : `${records} records`
  return {
    // A copy: the frame it arrived in holds many other bytes.
    body: Buffer.from(bytes),
    headers: bareCopy({ 'onceward-unreadable-records': records }),
    properties: bareCopy({
      ...(timestampMs !== undefined && { timestampMs }),
      contentEncoding: unreadableEncoding(`${what} of the log that cannot be taken apart: ${problem}`),
    }),
    key: null,
    at: String(offset),
    next: String(offset + records),
    position: `${partition}@${offset}`,
    redelivered,
  }
}
