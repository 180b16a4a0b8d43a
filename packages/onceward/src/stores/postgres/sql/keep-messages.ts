import type { KeptMessage } from '../../../contracts/held-work.ts'
import type { Enrolment } from '../../../contracts/store.ts'
import type { SqlClient } from '../pool.ts'
import { intArray } from './int-array.ts'

/** Digests and bodies travel as one run of bytes each: as arrays they would be written out in hexadecimal and read back. */
const insert = `
  insert into onceward.held (consumer_id, run_id, state, message_id, digest, order_key, business_key, origin, position, broker_key,
    delivery_count, headers, properties, due_at, body)
  select $1, $2, 'stored', m.id, substring($3::bytea from $4::integer * (m.n::integer - 1) + 1 for $4::integer), m.order_key,
    m.business_key, coalesce(m.origin, $13), m.position, m.broker_key, m.delivery_count, coalesce(m.headers, '{}'),
    coalesce(m.properties, '{}'), clock_timestamp(),
    substring($5::bytea from (sum(m.bytes) over (order by m.n))::integer - m.bytes + 1 for m.bytes)
  from unnest($6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::json[], $12::json[], $14::text[], $15::integer[],
      $16::integer[])
    with ordinality as m (id, order_key, business_key, position, broker_key, headers, properties, origin, delivery_count, bytes, n)
  order by m.n`

/** Rows follow the order given: within a key that is the order of arrival. */
export async function keepMessages(
  client: SqlClient,
  { consumerId, runId }: Enrolment,
  messages: readonly KeptMessage[],
): Promise<void> {
  const { origin } = messages[0]!
  await client.query(insert, [
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
  ])
}

/** A list of nothing but nulls is not sent. */
function orNone<T>(values: readonly (T | null)[]): readonly (T | null)[] | null {
  return values.some(value => value !== null) ? values : null
}

function beyondEmpty(json: string): string | null {
  return json === '{}' ? null : json
}
