import type { Conclusion } from '../../../ports/conclusion.ts'
import type { Enrolment } from '../../../ports/enrolment.ts'
import type { HeldRecord } from '../../../ports/held-record.ts'
import type { Outgoing } from '../../../ports/outgoing.ts'
import type { SqlClient } from '../pool.ts'
import { copyOfDeadLetter } from './dead-letter-copy.ts'
import { intArray } from './int-array.ts'
import { byKey, isKeyed, lookupByKey } from './lookup-by-key.ts'
import { writeOutbox } from './write-outbox.ts'

const markedKeys = '(select message_id as key, state from m where marked) asked'
const markers = {
  whole: `${lookupByKey('inbox', 'message_id', markedKeys)}
    where inbox.ctid = found.ctid and inbox.consumer_id + 0 = $1 and inbox.message_id || '' = asked.key`,
  spread: `${byKey(markedKeys, ', asked.state')} where ${isKeyed}`,
}

/**
 * Any number of messages and their markers, in one statement. Rows follow the given order, which within a key
 * is the order of arrival. Digests and bodies are sent as one byte string each. `placed`: messages that had a
 * row before keep its id, age and origin. If the same bytes were held by a campaign and then delivered live,
 * they are live work.
 */
const insertHeld = (placed: boolean, layout: 'whole' | 'spread') => `
  with m as materialized (
    select * from unnest($3::text[], $4::text[], $5::boolean[], $6::integer[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
      $12::integer[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[],
      $21::integer[], $22::json[], $23::json[], $24::integer[], $25::bigint[], $26::float8[], $30::text[], $31::bigint[],
      $32::boolean[], $33::bytea[], $34::text[], $35::text[], $36::text[]${placed ? ', $37::bigint[], $38::integer[], $39::timestamptz[]' : ''})
      with ordinality as m (state, message_id, marked, seen, reason, failure_class, code, error, place, attempts, order_key, business_key,
        correlation_id, message_type, schema_version, origin, position, broker_key, delivery_count, headers, properties, bytes, version,
        due_in_ms, mode, campaign_id, keyless, key_digest, producer, aggregate_id, aggregate_version${placed ? ', id, epoch, first_at' : ''}, n)),
  marked as (
    update onceward.inbox set status = asked.state::onceward.marker_status
    from ${markers[layout]})
  insert into onceward.held (${placed ? 'id, epoch, first_at, ' : ''}consumer_id, run_id, state, message_id, digest, seen, reason, failure_class, code,
    error, place, attempts, order_key, business_key, correlation_id, message_type, schema_version, origin, position, broker_key,
    delivery_count, headers, properties, version, due_at, mode, campaign_id, keyless, key_digest, producer, aggregate_id, aggregate_version, body)
  ${placed ? 'overriding system value' : ''}
  select ${placed ? 'm.id, m.epoch, coalesce(m.first_at, clock_timestamp()), ' : ''}$1, $2, m.state::onceward.held_state, m.message_id,
    substring($27::bytea from $28::integer * (m.n::integer - 1) + 1 for $28::integer), m.seen, m.reason, m.failure_class, m.code, m.error,
    m.place, m.attempts, m.order_key, m.business_key, m.correlation_id, m.message_type, m.schema_version, m.origin, m.position,
    m.broker_key, m.delivery_count, m.headers, m.properties, m.version, clock_timestamp() + m.due_in_ms * interval '1 millisecond',
    m.mode, m.campaign_id, m.keyless, m.key_digest, m.producer, m.aggregate_id, m.aggregate_version,
    substring($29::bytea from (sum(m.bytes) over (order by m.n))::integer - m.bytes + 1 for m.bytes)
  from m order by m.n
  on conflict (consumer_id, message_id, digest) where state in ('parked', 'dead', 'quarantined') do update
    set seen = held.seen + excluded.seen, last_at = clock_timestamp(),
      mode = case when excluded.mode = 'live' then excluded.mode else held.mode end,
      campaign_id = case when excluded.mode = 'live' then null else held.campaign_id end
  returning id::text, seen, extract(epoch from last_at)::float8 * 1000 as last_ms, message_id, encode(digest, 'hex') as digest`

const inserts = {
  whole: { placed: insertHeld(true, 'whole'), anew: insertHeld(false, 'whole') },
  spread: { placed: insertHeld(true, 'spread'), anew: insertHeld(false, 'spread') },
}

const block = 'select onceward.block_keys($1, $2::text[], $3::integer[])'

/**
 * A message that waits for its business key keeps its turn: later messages of its order key find the key with
 * workers.
 */
const queueBehind = `
  insert into onceward.blocked_key (consumer_id, key, state)
  select $1, key, 'released' from unnest($2::text[]) as key order by key on conflict do nothing`

interface Holding {
  readonly id: string | null
  readonly digest: Buffer
  /** Its marker is updated too. */
  readonly marked: boolean
  readonly held: HeldRecord
  readonly conclusion: Conclusion
  /** How often these bytes are in the batch. */
  seen: number
}

/**
 * One row per (id, digest): a repeat of the same bytes only raises its count. If the contract names a
 * dead-letter queue, messages that are to be copied leave a row in the outbox in the same transaction, so the
 * held row and the copy cannot disagree. Returns those that were copied.
 */
export async function holdMessages(
  client: SqlClient,
  enrolment: Enrolment,
  conclusions: readonly Conclusion[],
): Promise<ReadonlySet<Conclusion>> {
  const holdings = holdingsOf(conclusions)
  const blocked = new Map<string, number>()
  for (const { held } of holdings) {
    if (held.orderKey !== null && (held.state === 'parked' || held.state === 'quarantined'))
      blocked.set(held.orderKey, (blocked.get(held.orderKey) ?? 0) + (held.code === 'behind_parked' ? 1 : 0))
  }
  const copies = new Map<Conclusion, Outgoing>()
  for (const placed of [false, true]) {
    const some = holdings.filter(({ held }) => (held.was !== null) === placed)
    if (some.length === 0) continue
    for (const [of, copy] of await insertAll(client, enrolment, some, placed)) copies.set(of, copy)
  }
  if (blocked.size > 0)
    await client.query(block, [enrolment.consumerId, [...blocked.keys()], [...blocked.values()]])
  const turns = holdings.flatMap(({ held }) =>
    held.state === 'stored' && held.keyless ? (held.orderKey ?? []) : [],
  )
  if (turns.length > 0) await client.query(queueBehind, [enrolment.consumerId, [...new Set(turns)]])
  if (copies.size > 0) await writeOutbox(client, [...copies.values()], enrolment.facts.destinations)
  return new Set(copies.keys())
}

function holdingsOf(conclusions: readonly Conclusion[]): readonly Holding[] {
  const holdings = new Map<string, Holding>()
  for (const conclusion of conclusions) {
    const { id, digest, claimed, held } = conclusion
    if (held === null) continue
    const key = keyOf(id, digest.toString('hex'))
    const earlier = holdings.get(key)
    if (earlier === undefined)
      holdings.set(key, { id, digest, marked: claimed && id !== null, held, conclusion, seen: 1 })
    else earlier.seen++
  }
  return [...holdings.values()]
}

function keyOf(id: string | null, digest: string): string {
  return id === null ? `d${digest}` : `i${digest}${id}`
}

async function insertAll(
  client: SqlClient,
  enrolment: Enrolment,
  holdings: readonly Holding[],
  placed: boolean,
): Promise<ReadonlyMap<Conclusion, Outgoing>> {
  const texts = inserts[enrolment.markersSpread ? 'spread' : 'whole']
  const { rows } = await client.query(
    placed ? texts.placed : texts.anew,
    columns(enrolment, holdings, placed),
  )
  const copies = new Map<Conclusion, Outgoing>()
  if (enrolment.facts.deadLetterTo === null) return copies
  const byKey = new Map(rows.map(row => [keyOf(row.message_id, row.digest), row]))
  const copied = holdings.filter(({ held }) => held.copied)
  const firstFailures = await readFirstFailures(client, enrolment, copied)
  for (const { id, digest, held, conclusion, seen } of copied) {
    const row = byKey.get(keyOf(id, digest.toString('hex')))!
    if (row.seen !== seen) continue
    const firstMs = firstFailures.get(id ?? '') ?? row.last_ms
    const copy = copyOfDeadLetter(enrolment, id, held, { heldId: row.id, firstMs, lastMs: row.last_ms })
    if (copy !== null) copies.set(conclusion, copy)
  }
  return copies
}

const firstFailure = `
  select asked.id, (select extract(epoch from min(a.at))::float8 * 1000 from onceward.attempt a
    where a.consumer_id = $1 and a.message_id = asked.id) as first_ms
  from unnest($2::text[]) as asked (id)`

/** By message id. This transaction has counted the last attempt already. */
async function readFirstFailures(
  client: SqlClient,
  { consumerId }: Enrolment,
  holdings: readonly Holding[],
): Promise<ReadonlyMap<string, number | null>> {
  const ids = holdings.flatMap(({ id }) => id ?? [])
  if (ids.length === 0) return new Map()
  const { rows } = await client.query(firstFailure, [consumerId, ids])
  return new Map(rows.map(row => [row.id as string, row.first_ms as number | null]))
}

function columns(enrolment: Enrolment, holdings: readonly Holding[], placed: boolean): unknown[] {
  const { consumerId, runId, campaignId, facts } = enrolment
  const of = <T>(read: (held: HeldRecord) => T): T[] => holdings.map(({ held }) => read(held))
  return [
    consumerId,
    runId,
    of(held => held.state),
    holdings.map(({ id }) => id),
    holdings.map(({ marked }) => marked),
    intArray(holdings.map(({ seen }) => seen)),
    of(held => held.reason),
    of(held => held.failureClass),
    of(held => held.code),
    of(held => held.error),
    of(held => held.place),
    intArray(of(held => held.attempts)),
    of(held => held.orderKey),
    of(held => held.businessKey),
    of(held => held.correlationId),
    of(held => held.messageType),
    of(held => held.schemaVersion),
    of(held => held.origin),
    of(held => held.position),
    of(held => held.brokerKey),
    intArray(of(held => held.deliveryCount)),
    of(held => held.headers),
    of(held => held.properties),
    intArray(of(held => held.body.length)),
    of(held => held.version),
    of(held => held.dueInMs),
    Buffer.concat(holdings.map(({ digest }) => digest)),
    holdings[0]!.digest.length,
    Buffer.concat(of(held => held.body)),
    of(held => held.was?.cameFrom?.mode ?? facts.mode),
    of(held => (held.was?.cameFrom ? held.was.cameFrom.campaignId : (campaignId ?? null))),
    of(held => held.keyless),
    of(held => held.businessDigest),
    of(held => held.producer),
    of(held => held.aggregateId),
    of(held => held.aggregateVersion),
    ...(placed
      ? [of(held => held.was!.row), of(held => held.was!.epoch), of(held => held.was!.firstAt ?? null)]
      : []),
  ]
}
