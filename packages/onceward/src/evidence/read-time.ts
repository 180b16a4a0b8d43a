import type { SqlClient } from '../drivers/postgres/pool.ts'
import { idTimeMs } from '../message/own-time.ts'

/** From 2015 to a day ahead of the database's clock; other numbers only look like a time. */
const plausible = `
  select to_timestamp($1::float8 / 1000) as at
  where $1::float8 between 1420070400000 and extract(epoch from clock_timestamp()) * 1000 + 86400000`

/** Milliseconds since 1970 as a time; null when not plausible. */
export async function timeOf(client: SqlClient, ms: unknown): Promise<Date | null> {
  if (typeof ms !== 'number' || !Number.isFinite(ms)) return null
  return (await client.query(plausible, [ms])).rows[0]?.at ?? null
}

/** Of an event, by the message itself, which may be older than this kind of system. */
export async function eventTime(client: SqlClient, ms: number): Promise<Date | null> {
  return (await client.query('select to_timestamp($1::float8 / 1000) as at', [ms])).rows[0]?.at ?? null
}

/** The time inside a UUIDv7 or ULID. */
export async function timeInId(client: SqlClient, id: string): Promise<Date | null> {
  return timeOf(client, idTimeMs(id, 'uuidv7') ?? idTimeMs(id, 'ulid'))
}
