import type { SqlClient } from '../pool.ts'

/** The outbox is scanned without an index: usually it is almost empty. */
const rowsMax = 50_000

const waiting = `
  select o.message_id as id, concat_ws('/', o.broker, o.exchange, o.queue) as target, o.destination, o.created_at as at, o.failures,
    o.last_error as error, o.key, o.destination = 'cdc' or exists (
      select from onceward.relay r where r.destination = o.destination and r.until > clock_timestamp()) as served,
    (select s.message_id from onceward.outbox_stuck s where s.destination = o.destination and s.queue = o.queue and s.key = o.key
      and s.exchange is not distinct from o.exchange and s.id < o.id) as "behindId",
    coalesce((select s.behind from onceward.outbox_stuck s where s.destination = o.destination and s.id = o.id), 0) as behind
  from (select * from onceward.outbox limit ${rowsMax}) o where o.message_id = any($1::text[])`

export interface WaitingOutboxRow {
  readonly id: string
  readonly target: string
  readonly destination: string
  readonly at: Date
  readonly failures: number
  readonly error: string | null
  readonly key: string | null
  /** A relay is connected there. */
  readonly served: boolean
  readonly behindId: string | null
  readonly behind: number
}

export async function readOutboxRows(
  client: SqlClient,
  messageIds: readonly string[],
): Promise<readonly WaitingOutboxRow[]> {
  return (await client.query(waiting, [messageIds])).rows
}
