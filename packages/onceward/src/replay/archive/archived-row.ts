import { withBytes } from '../../message/stored-json.ts'
import type { LogRecord } from '../../ports/log-record.ts'
import type { DeliveryProperties } from '../../ports/source.ts'
import { refuse } from './find-archive.ts'

/** A dead letter or quarantined message as retention archived it. */
export interface ArchivedRow {
  /** Its number in the database that it was removed from. */
  readonly id: string
  readonly consumer?: string
  readonly generation?: number
  readonly message_id: string | null
  /** The digest of the message as received, also when its bytes were fixed later. */
  readonly digest: string
  readonly first_at: string
  readonly code: string
  readonly origin: string
  readonly position: string | null
  readonly broker_key: string | null
  readonly headers: Record<string, unknown>
  readonly properties: DeliveryProperties
  readonly body: string
}

/** `where`: file and line, for error texts. */
export function readRow(line: Buffer, where: string): ArchivedRow {
  let row: unknown
  try {
    row = JSON.parse(line.toString('utf8'))
  } catch {
    throw refuse(`${where} is not JSON`)
  }
  if (!isRow(row)) throw refuse(`${where} is not a message that retention archived`)
  return row
}

function isRow(value: unknown): value is ArchivedRow {
  if (!isObject(value)) return false
  const row = value as Partial<Record<keyof ArchivedRow, unknown>>
  return (
    (typeof row.id === 'string' || typeof row.id === 'number') &&
    typeof row.body === 'string' &&
    /^[A-Za-z0-9+/\n]*={0,2}$/.test(row.body) &&
    typeof row.digest === 'string' &&
    /^[0-9a-f]{66}$/.test(row.digest) &&
    typeof row.first_at === 'string' &&
    Number.isFinite(Date.parse(row.first_at)) &&
    isText(row.origin) &&
    [row.message_id, row.position, row.broker_key].every(part => part == null || isText(part)) &&
    row.message_id !== undefined &&
    isObject(row.headers) &&
    isObject(row.properties) &&
    isTime(row.properties.timestampMs)
  )
}

function isObject(part: unknown): part is Record<string, unknown> {
  return part !== null && typeof part === 'object' && !Array.isArray(part)
}

/** Text that PostgreSQL can store. Other text would be refused, or would become another message's. */
function isText(part: unknown): boolean {
  return typeof part === 'string' && part.isWellFormed() && !part.includes('\0')
}

function isTime(part: unknown): boolean {
  return part == null || Number.isFinite(part)
}

/**
 * The time of the message: not after it was first set aside, and not before 1970, even if its producer claims
 * so.
 */
export function ageOf({ first_at, properties }: ArchivedRow): number {
  return Math.max(0, Math.min(Date.parse(first_at), properties.timestampMs ?? Number.POSITIVE_INFINITY))
}

/** The message as received, with its line number as position. */
export function recordOf(row: ArchivedRow, at: number, where: string): LogRecord {
  const { message_id: messageId, digest } = row
  return {
    body: Buffer.from(row.body, 'base64'),
    headers: withBytes(row.headers),
    properties: withBytes(row.properties) as DeliveryProperties,
    key: row.broker_key ?? null,
    at: String(at),
    next: String(at + 1),
    position: row.position ?? where,
    redelivered: true,
    origin: row.origin,
    ...(messageId !== null && { archived: { messageId, digest: Buffer.from(digest, 'hex') } }),
  }
}
