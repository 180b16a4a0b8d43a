import type { Conclusion, Enrolment, HeldRecord } from '../../../contracts/store.ts'
import type { SqlClient } from '../pool.ts'
import { writeOutbox } from './write-outbox.ts'

const insertHeld = (placed: boolean) => `
  insert into onceward.held (${placed ? 'id, epoch, ' : ''}consumer_id, run_id, state, message_id, digest, reason, failure_class, code, error,
    attempts, order_key, business_key, correlation_id, message_type, schema_version, origin, position, broker_key,
    delivery_count, headers, properties, body, version, due_at)
  ${placed ? 'overriding system value' : ''}
  values (${placed ? '$25, $26, ' : ''}$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
    clock_timestamp() + $24::double precision * interval '1 millisecond')
  on conflict (consumer_id, message_id, digest) where state in ('parked', 'dead', 'quarantined') do update
    set seen = held.seen + 1, last_at = clock_timestamp()
  returning id, seen`

const inserts = { placed: insertHeld(true), anew: insertHeld(false) }

const block = 'select onceward.block_keys($1, array[$2], array[$3::integer])'

/**
 * One row per (id, digest): the same bytes coming back only raise its count. Dead and quarantined messages leave a copy in the
 * outbox in the same transaction when the contract names a dead-letter queue, so that the row and the copy cannot disagree.
 */
export async function holdMessages(
  client: SqlClient,
  enrolment: Enrolment,
  conclusions: readonly Conclusion[],
): Promise<void> {
  for (const { id, digest, held } of conclusions) {
    if (held === null) continue
    const values = heldValues(enrolment, id, digest, held)
    const { rows } =
      held.was === null
        ? await client.query(inserts.anew, values)
        : await client.query(inserts.placed, [...values, held.was.row, held.was.epoch])
    if (held.orderKey !== null && (held.state === 'parked' || held.state === 'quarantined'))
      await client.query(block, [enrolment.consumerId, held.orderKey, held.code === 'behind_parked' ? 1 : 0])
    const to = enrolment.facts.deadLetterTo
    if (to === null || !(held.state === 'dead' || held.state === 'quarantined') || rows[0].seen > 1) continue
    const messageId = id ?? `held:${rows[0].id}`
    const headers = copyHeaders(held.headers, provenance(enrolment, held, rows[0].id))
    // RabbitMQ is not told the key, and as a key of the outbox a routing key would put all copies in one line.
    const key = to.broker === 'rabbitmq' ? null : held.brokerKey
    const { properties, body } = held
    await writeOutbox(client, [{ ...to, exchange: null, messageId, key, headers, properties, body }])
  }
}

function heldValues(
  { consumerId, runId }: Enrolment,
  id: string | null,
  digest: Buffer,
  held: HeldRecord,
): unknown[] {
  return [
    consumerId,
    runId,
    held.state,
    id,
    digest,
    held.reason,
    held.failureClass,
    held.code,
    held.error,
    held.attempts,
    held.orderKey,
    held.businessKey,
    held.correlationId,
    held.messageType,
    held.schemaVersion,
    held.origin,
    held.position,
    held.brokerKey,
    held.deliveryCount,
    held.headers,
    held.properties,
    held.body,
    held.version,
    held.dueInMs,
  ]
}

/** Headers on the broker's copy: enough to find the row, and to see the cause without it. */
function provenance({ facts }: Enrolment, held: HeldRecord, heldId: string): Record<string, string> {
  return {
    'onceward-consumer': `${facts.name}/${facts.generation}`,
    'onceward-held-id': String(heldId),
    'onceward-state': held.state,
    'onceward-class': held.failureClass,
    'onceward-code': held.code,
    'onceward-reason': held.reason.slice(0, 500),
    'onceward-origin': held.origin,
    ...(held.position === null ? {} : { 'onceward-position': held.position }),
    'onceward-attempts': String(held.attempts),
  }
}

/** AMQP carries 64 KiB of headers at most: beyond what fits beside ours, the originals stay in the held row. */
const copyHeaderBytesMax = 48 * 1024

function copyHeaders(original: string, ours: Record<string, string>): string {
  if (Buffer.byteLength(original) > copyHeaderBytesMax) {
    return JSON.stringify({ ...ours, 'onceward-headers': 'too large to copy, kept in the held row' })
  }
  return JSON.stringify({ ...JSON.parse(original), ...ours })
}
