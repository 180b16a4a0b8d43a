import type { BrakeLedger, PausedType } from '../../../ports/brakes.ts'
import type { SqlClient } from '../pool.ts'

const engage = `
  insert into onceward.brake (consumer_id, run_id, message_type, cause, messages, handler_version)
  values ($1, $2, $3, $4, $5, $6)
  on conflict (consumer_id, message_type) where ended_at is null do nothing`

const end = `
  update onceward.brake set ended_at = clock_timestamp()
  where consumer_id = $1 and message_type = $2 and ended_at is null`

const read = `
  select message_type as type, cause, ended_at is null as open from onceward.brake
  where consumer_id = $1
    and (ended_at is null or (released_by is not null and ended_at > clock_timestamp() - interval '1 hour'))`

export function brakeLedger(client: SqlClient): BrakeLedger {
  return {
    async engage({ consumerId, runId, facts }, { type, cause, messages }) {
      await client.query(engage, [consumerId, runId, type, cause, messages, facts.handlerVersion])
    },
    async end({ consumerId }, type) {
      await client.query(end, [consumerId, type])
    },
    async read({ consumerId }) {
      const { rows } = await client.query(read, [consumerId])
      const open: PausedType[] = []
      const released: PausedType[] = []
      for (const row of rows) (row.open ? open : released).push({ type: row.type, cause: row.cause })
      return { open, released }
    },
  }
}

/** A pause of an event type, for operators. */
export interface BrakeRow {
  readonly consumer: string
  readonly generation: number
  readonly type: string
  readonly cause: string
  readonly messages: number
  readonly version: string
  readonly since: string
}

const list = `
  select c.name as consumer, c.generation, b.message_type as type, b.cause, b.messages,
    b.handler_version as version, b.engaged_at as since
  from onceward.brake b join onceward.consumer c on c.id = b.consumer_id
  where b.ended_at is null order by b.engaged_at, b.id`

export async function listBrakes(client: SqlClient): Promise<readonly BrakeRow[]> {
  const { rows } = await client.query(list)
  return rows.map(row => ({ ...row, since: new Date(row.since).toISOString() }))
}
