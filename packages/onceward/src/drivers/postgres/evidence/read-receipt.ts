import type { SqlClient } from '../pool.ts'
import { type UnpackedReceipt, unpackReceipt } from '../sql/pack-receipts.ts'
import type { MessageOfConsumer } from './read-marker.ts'

export interface ReceiptRow {
  readonly at: Date
  readonly runId: number
  readonly facts: UnpackedReceipt['facts']
  readonly digest: string
  /** The bytes of the message; null when they are not kept. */
  readonly bytes: number | null
  readonly start: Buffer | null
}

const columns = `r.at, r.run_id as "runId", r.count, r.facts, r.tableoid::regclass::text as "table", r.ctid::text as place`

/** Compared in SQL: a time in JavaScript is not exact to the microsecond. */
const ofMarker = `
  select ${columns} from onceward.inbox m
  join onceward.receipt r on r.consumer_id = m.consumer_id and r.at = coalesce(m.arrived_at, m.at)
  where m.consumer_id = $1 and m.message_id = $2`

const ofId = `
  select ${columns} from onceward.receipt r
  where r.consumer_id = $1 and r.id_hashes @> array[hashtextextended($2, 0)] and r.id_hashes is not null
  order by r.at desc limit 20`

interface PackedRow {
  readonly at: Date
  readonly runId: number
  readonly count: number
  readonly facts: Readonly<Record<string, unknown>>
  readonly table: string
  readonly place: string
}

/** By the time of its marker, else by the index over ids. `bodyBytesMax`: null reads no payload. */
export async function readReceiptRow(
  client: SqlClient,
  subject: MessageOfConsumer,
  bodyBytesMax: number | null,
): Promise<ReceiptRow | null> {
  const values = [subject.consumerId, subject.messageId]
  for (const text of [ofMarker, ofId]) {
    const { rows } = await client.query(text, values)
    for (const row of rows as PackedRow[]) {
      const receipt = unpackReceipt(row.facts, subject.messageId)
      if (receipt !== null) return withBytes(client, row, receipt, bodyBytesMax)
    }
  }
  return null
}

const parts = `
  select encode(substring(digests from $3::integer * (length(digests) / count) + 1 for length(digests) / count), 'hex') as digest,
    case when $5::boolean then substring(payloads from $4::integer for $6::integer) end as start
  from onceward.receipt where tableoid = $1::regclass and ctid = $2::tid`

async function withBytes(
  client: SqlClient,
  { at, runId, table, place }: PackedRow,
  { facts, index, bytes }: UnpackedReceipt,
  bodyBytesMax: number | null,
): Promise<ReceiptRow> {
  const isShown = bodyBytesMax !== null && bytes !== null
  const length = isShown ? Math.min(bytes.length, bodyBytesMax) : 0
  const { rows } = await client.query(parts, [table, place, index, (bytes?.from ?? 0) + 1, isShown, length])
  return {
    at,
    runId,
    facts,
    digest: rows[0].digest,
    bytes: bytes?.length ?? null,
    start: rows[0].start,
  }
}
