import { fromStoredJson } from '../../stored-json.ts'
import type { SqlClient } from '../../stores/postgres/pool.ts'
import type { OutgoingMessage } from './publisher.ts'

export interface OutboxRow {
  readonly id: string
  readonly message: OutgoingMessage
}

/** Rows are claimed, never passed by a cursor, so one that commits late is found like any other. */
const lockRows = `
  select id, octet_length(body) as bytes from onceward.outbox
  where broker = $1 and id <> all ($2::bigint[]) and queue <> all ($3::text[])
  order by id limit $4 for update skip locked`

const readRows = `
  select id, queue, message_id, key, headers::text as headers, properties::text as properties, body
  from onceward.outbox where id = any ($1::bigint[]) order by id`

/** A round's bodies together; a single larger one still gets its own round. */
const bytesMax = 8 * 1024 * 1024

/** Locks up to `max` rows that no other relay holds and reads as many of them as fit into memory. `more`: others may be waiting. */
export async function takeOutbox(
  client: SqlClient,
  broker: string,
  max: number,
  not: { readonly ids: readonly string[]; readonly queues: readonly string[] },
): Promise<{ readonly rows: readonly OutboxRow[]; readonly more: boolean }> {
  const locked = await client.query(lockRows, [broker, not.ids, not.queues, max])
  if (locked.rows.length === 0) return { rows: [], more: false }
  const ids = fitting(locked.rows)
  const { rows } = await client.query(readRows, [ids])
  return { rows: rows.map(toRow), more: ids.length < locked.rows.length || locked.rows.length === max }
}

function fitting(rows: readonly { id: string; bytes: number }[]): string[] {
  let bytes = 0
  const tooMany = rows.findIndex((row, index) => {
    bytes += row.bytes
    return index > 0 && bytes > bytesMax
  })
  return rows.slice(0, tooMany === -1 ? rows.length : tooMany).map(row => row.id)
}

function toRow(row: Record<string, string> & { body: Buffer }): OutboxRow {
  return {
    id: row.id!,
    message: {
      queue: row.queue!,
      messageId: row.message_id!,
      key: row.key ?? null,
      headers: fromStoredJson(row.headers!),
      properties: fromStoredJson(row.properties!),
      body: row.body,
    },
  }
}
