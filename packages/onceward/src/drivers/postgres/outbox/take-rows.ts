import { emptyMap } from '../../../message/bare-map.ts'
import { fromStoredJson } from '../../../message/stored-json.ts'
import type { OutgoingMessage } from '../../../ports/publisher.ts'
import type { SqlPool } from '../pool.ts'

/** The position of a row within its destination. */
export interface RowPlace {
  readonly id: string
  readonly bucket: number
}

export interface OutboxRow extends RowPlace {
  readonly message: OutgoingMessage
}

/** A queue or topic, or an exchange with a routing key. */
export interface OutboxPlace {
  readonly exchange: string | null
  readonly queue: string
}

/** Rows that a round must skip. */
export interface LeftAlone {
  /** Rows without a key, by id. */
  readonly ids: readonly string[]
  readonly keys: readonly (OutboxPlace & { readonly key: string })[]
  readonly places: readonly OutboxPlace[]
}

export interface Wanted {
  readonly destination: string
  /** The kind of broker. Rows that name only the kind may precede these. */
  readonly broker: string
  readonly buckets: readonly number[]
  /** The maximum for one bucket, and in total. */
  readonly perBucketMax: number
  readonly max: number
  readonly leftAlone: LeftAlone | null
}

/** Bodies up to this size are read with their rows. Larger ones are read afterwards, as many as fit. */
const inlineBytesMax = 16 * 1024
/** The limit for all bodies of a round. A single larger body gets a round of its own. */
const bytesMax = 8 * 1024 * 1024

/**
 * One statement reads one snapshot: a relay that sees a row also sees every row of its key that committed
 * earlier. It always reads from the front of each bucket, never from a cursor, so it finds rows that commit
 * late. The join runs bucket by bucket and stops at the limit, so it returns the first rows of each bucket.
 */
const take = (filter: string) => `
  select taken.*, (select exists (select from onceward.outbox where destination = $5 and $5 <> $1)) as unadopted from unnest($2::smallint[]) as mine (bucket) cross join lateral (
    select id, bucket, exchange, queue, message_id, key,
      nullif(headers::text, '{}') as headers, nullif(properties::text, '{}') as properties,
      case when octet_length(body) > ${inlineBytesMax} then octet_length(body) end as large,
      case when octet_length(body) <= ${inlineBytesMax} then body end as body
    from onceward.outbox where destination = $1 and bucket = mine.bucket ${filter}
    order by id limit $3
  ) as taken limit $4`

const notLeftAlone = `and id <> all ($6::bigint[])
  and not exists (select from unnest($7::text[], $8::text[]) as place (exchange, queue)
    where place.queue = outbox.queue and place.exchange is not distinct from outbox.exchange)
  and not exists (select from unnest($9::text[], $10::text[], $11::text[]) as left_alone (exchange, queue, key)
    where left_alone.queue = outbox.queue and left_alone.key = outbox.key
      and left_alone.exchange is not distinct from outbox.exchange)`

const readBodies = `
  select outbox.id, body from unnest($2::smallint[], $3::bigint[]) as large (bucket, id)
  join onceward.outbox on destination = $1 and outbox.bucket = large.bucket and outbox.id = large.id`

export interface Taken {
  readonly rows: readonly OutboxRow[]
  /** True when the same snapshot has rows that name only the kind of broker. */
  readonly unadopted: boolean
}

/** Reads the first rows of the buckets, as many as fit in memory, in order within each bucket. */
export async function takeRows(pool: SqlPool, wanted: Wanted): Promise<Taken> {
  const { destination, broker, buckets, perBucketMax, max, leftAlone } = wanted
  const values: unknown[] = [destination, buckets, perBucketMax, max, broker]
  if (leftAlone !== null) {
    const { places, ids, keys } = leftAlone
    values.push(ids)
    for (const some of [places, keys])
      values.push(
        some.map(({ exchange }) => exchange),
        some.map(({ queue }) => queue),
      )
    values.push(keys.map(({ key }) => key))
  }
  const { rows } = await pool.query(take(leftAlone === null ? '' : notLeftAlone), values)
  const unadopted = rows[0]?.unadopted === true
  const fit = fitting(rows)
  const large = fit.filter(row => row.body === null)
  if (large.length === 0) return { rows: fit.map(row => toRow(row, row.body)), unadopted }
  const read = await pool.query(readBodies, [
    destination,
    large.map(({ bucket }) => bucket),
    large.map(({ id }) => id),
  ])
  const found = new Map<string, Buffer>(read.rows.map(({ id, body }) => [id, body]))
  const whole = fit.flatMap(row => {
    const body = row.body ?? found.get(row.id)
    return body === undefined ? [] : [toRow(row, body)]
  })
  return { rows: whole, unadopted }
}

// biome-ignore lint/suspicious/noExplicitAny: shaped by the statement above
type TakenRow = any

function fitting(rows: readonly TakenRow[]): readonly TakenRow[] {
  let bytes = 0
  const tooMany = rows.findIndex((row, index) => {
    bytes += row.large ?? row.body.length
    return index > 0 && bytes > bytesMax
  })
  return tooMany === -1 ? rows : rows.slice(0, tooMany)
}

function toRow(row: TakenRow, body: Buffer): OutboxRow {
  const { id, bucket, exchange, queue, key } = row
  const headers = row.headers === null ? emptyMap : fromStoredJson(row.headers)
  const properties = row.properties === null ? emptyMap : fromStoredJson(row.properties)
  return {
    id,
    bucket,
    message: { exchange, queue, messageId: row.message_id, key, headers, properties, body },
  }
}
