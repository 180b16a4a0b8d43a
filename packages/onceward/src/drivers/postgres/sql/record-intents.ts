import type { Enrolment } from '../../../ports/enrolment.ts'
import type { Intent, IntentAnswer } from '../../../ports/outgoing.ts'
import type { SqlClient } from '../pool.ts'

const mine = '(select onceward.current_name($1, $2) as name) mine'

const insert = `
  insert into onceward.ledger
    (consumer_name, run_id, target, effect_key, message_id, request_digest, content_type, body, effect_type, business_key)
  select mine.name, $3, intent.*
  from ${mine}, unnest($4::text[], $5::text[], $6::text[], $7::bytea[], $8::text[], $9::bytea[], $10::text[], $11::text[])
    as intent (target, effect_key, message_id, request_digest, content_type, body, effect_type, business_key)
  on conflict do nothing
  returning target, effect_key`

const readBack = `
  select ledger.target, ledger.effect_key, ledger.request_digest
  from ${mine} cross join unnest($3::text[], $4::text[]) as wanted (target, effect_key)
  cross join lateral (
    select target, effect_key, request_digest from onceward.ledger
    where consumer_name = mine.name and target = wanted.target and effect_key = wanted.effect_key limit 1) ledger`

/**
 * One row per effect key while retention keeps it. A key requested again with the same bytes is suppressed;
 * with other bytes it is a conflict.
 */
export async function recordIntents(
  client: SqlClient,
  { consumerId, facts, runId }: Enrolment,
  intents: readonly Intent[],
): Promise<readonly IntentAnswer[]> {
  const name = (intent: { target: string; key: string }) => `${intent.target}\0${intent.key}`
  const sorted = [...intents].sort((a, b) => (name(a) < name(b) ? -1 : 1))
  const { rows } = await client.query(insert, [
    consumerId,
    facts.name,
    runId,
    sorted.map(intent => intent.target),
    sorted.map(intent => intent.key),
    sorted.map(intent => intent.messageId),
    sorted.map(intent => intent.digest),
    sorted.map(intent => intent.contentType),
    sorted.map(intent => intent.body),
    sorted.map(intent => intent.effectType),
    sorted.map(intent => intent.businessKey),
  ])
  if (rows.length === intents.length) return intents.map(() => 'recorded')

  const inserted = new Set(rows.map(row => name({ target: row.target, key: row.effect_key })))
  const rest = sorted.filter(intent => !inserted.has(name(intent)))
  const seen = await client.query(readBack, [
    consumerId,
    facts.name,
    rest.map(i => i.target),
    rest.map(i => i.key),
  ])
  const digests = new Map(
    seen.rows.map(row => [name({ target: row.target, key: row.effect_key }), row.request_digest]),
  )
  return intents.map(intent => {
    if (inserted.has(name(intent))) return 'recorded'
    const digest = digests.get(name(intent)) as Buffer | undefined
    if (digest === undefined) {
      throw Object.assign(new Error(`intent ${intent.key} vanished while recording`), { code: '40001' })
    }
    return intent.digest.equals(digest) ? 'suppressed duplicate' : 'conflict'
  })
}
