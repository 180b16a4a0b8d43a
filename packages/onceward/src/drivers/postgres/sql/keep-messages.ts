import type { Enrolment } from '../../../ports/enrolment.ts'
import type { KeptMessage, WorkHolder, WorkLease } from '../../../ports/held-work.ts'
import type { SqlClient } from '../pool.ts'
import { intArray } from './int-array.ts'

/**
 * Digests and bodies are sent as one byte string each: as arrays they would be written in hexadecimal and
 * parsed back. Rows for a local worker ($17, $18) are written as leased. The ids are returned in one text, in
 * order: the sequence assigned them in the order of m.n.
 */
const insert = (keys: string, isLeased: string) => `
  with m as materialized (
    select * from unnest($6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::json[], $12::json[], $14::text[], $15::integer[],
      $16::integer[], $20::boolean[], $21::bytea[], $22::text[], $23::text[], $24::text[], $25::text[], $26::text[], $27::text[])
    with ordinality as m (id, order_key, business_key, position, broker_key, headers, properties, origin, delivery_count, bytes, keyless,
      key_digest, message_type, schema_version, producer, correlation_id, aggregate_id, aggregate_version, n)),
  ${keys}
  kept as (
    insert into onceward.held (consumer_id, run_id, state, message_id, digest, order_key, business_key, origin, position, broker_key,
      delivery_count, headers, properties, due_at, epoch, lease_until, leased_at, mode, keyless, key_digest,
      message_type, schema_version, producer, correlation_id, aggregate_id, aggregate_version, body)
    select $1, case when ${isLeased} then $17::integer else $2::integer end, 'stored', m.id,
      substring($3::bytea from $4::integer * (m.n::integer - 1) + 1 for $4::integer), m.order_key,
      m.business_key, coalesce(m.origin, $13), m.position, m.broker_key, m.delivery_count, coalesce(m.headers, '{}'),
      coalesce(m.properties, '{}'), clock_timestamp(), case when ${isLeased} then 1 else 0 end,
      case when ${isLeased} then clock_timestamp() + $18::float8 * interval '1 millisecond' end,
      case when ${isLeased} then clock_timestamp() end, $19, coalesce(m.keyless, false), m.key_digest,
      coalesce(m.message_type, $28), coalesce(m.schema_version, $29), coalesce(m.producer, $30), m.correlation_id, m.aggregate_id,
      m.aggregate_version,
      substring($5::bytea from (sum(m.bytes) over (order by m.n))::integer - m.bytes + 1 for m.bytes)
    from m order by m.n
    returning id, epoch)
  select string_agg(id::text, ',' order by id) as ids, string_agg(epoch::text, ',' order by id) as epochs from kept`

/** Once per key, not per message: under one hot key all rows of the worker are checked. */
const takenKeys = `taken as materialized (
    select keys.order_key from (select distinct order_key from m where order_key is not null) keys
    cross join lateral (
      select e.id from onceward.held e
      where e.consumer_id = $1 and e.order_key = keys.order_key and e.order_key is not null and e.state in ('stored', 'parked')
        and (e.run_id <> $17 or e.lease_until is null or e.lease_until <= clock_timestamp())
      order by e.id limit 1) e),`

const inserts = {
  leased: insert('', '$17::integer is not null'),
  inTurn: insert(takenKeys, 'not exists (select from taken where taken.order_key = m.order_key)'),
}

/** Rows follow the given order: within a key that is the order of arrival. */
export async function keepMessages(
  client: SqlClient,
  { consumerId, runId, facts }: Enrolment,
  messages: readonly KeptMessage[],
  holder: WorkHolder | null,
): Promise<readonly (WorkLease | null)[]> {
  const { origin } = messages[0]!
  const types = shared(messages.map(message => message.messageType))
  const versions = shared(messages.map(message => message.schemaVersion))
  const producers = shared(messages.map(message => message.producer))
  const { rows } = await client.query(holder?.ordered ? inserts.inTurn : inserts.leased, [
    consumerId,
    runId,
    Buffer.concat(messages.map(message => message.digest)),
    messages[0]!.digest.length,
    Buffer.concat(messages.map(message => message.body)),
    messages.map(message => message.id),
    orNone(messages.map(message => message.orderKey)),
    orNone(messages.map(message => message.businessKey)),
    orNone(messages.map(message => message.position)),
    orNone(messages.map(message => message.brokerKey)),
    orNone(messages.map(message => beyondEmpty(message.headers))),
    orNone(messages.map(message => beyondEmpty(message.properties))),
    origin,
    orNone(messages.map(message => (message.origin === origin ? null : message.origin))),
    intArray(messages.map(message => message.deliveryCount)),
    intArray(messages.map(message => message.body.length)),
    holder?.runId ?? null,
    holder?.leaseMs ?? null,
    facts.mode,
    orNone(messages.map(({ keyless }) => keyless || null)),
    orNone(messages.map(message => message.businessDigest)),
    types.list,
    versions.list,
    producers.list,
    orNone(messages.map(message => message.correlationId)),
    orNone(messages.map(message => message.aggregateId)),
    orNone(messages.map(message => message.aggregateVersion)),
    types.all,
    versions.all,
    producers.all,
  ])
  if (holder === null) return []
  const epochs = (rows[0].epochs as string).split(',')
  return (rows[0].ids as string)
    .split(',')
    .map((row, index) => (epochs[index] === '1' ? { row, epoch: 1 } : null))
}

/** Usually the same for the whole batch, and then sent once. */
function shared(values: readonly (string | null)[]): {
  readonly all: string | null
  readonly list: readonly (string | null)[] | null
} {
  const first = values[0]!
  return values.every(value => value === first) ? { all: first, list: null } : { all: null, list: values }
}

/** A list of nulls is not sent. */
function orNone<T>(values: readonly (T | null)[]): readonly (T | null)[] | null {
  return values.some(value => value !== null) ? values : null
}

function beyondEmpty(json: string): string | null {
  return json === '{}' ? null : json
}
