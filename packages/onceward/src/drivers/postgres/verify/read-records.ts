import type { SqlClient } from '../pool.ts'

/** A request for an external call, or a message in the outbox. */
export interface IntentRecord {
  readonly kind: 'call' | 'publication'
  readonly target: string
  /** The idempotency key, or the message id. */
  readonly key: string
  readonly body: string
  /** What else leaves with it: each header, each property and the broker's key, or the facts of a call. */
  readonly fields?: Readonly<Record<string, string>>
}

/** The outcome of one message. */
export interface OutcomeRecord {
  readonly id: string
  readonly status: string
  /** The code of the failure, for a message that was set aside. */
  readonly code: string
  readonly reason: string
}

/** What Onceward recorded for a verified consumer. Bodies are text; other bytes are shown as hexadecimal. */
export async function readIntents(client: SqlClient): Promise<readonly IntentRecord[]> {
  const { rows } = await client.query(`
    select 'call' as kind, target, effect_key as key, body, '{}'::json as headers,
      json_build_object('contentType', content_type, 'type', effect_type, 'businessKey', business_key) as properties,
      null as broker_key
    from onceward.ledger
    union all
    select 'publication', coalesce(exchange || '/', '') || queue, message_id, body, headers, properties, key
    from onceward.outbox
    union all
    select 'publication', q.name, coalesce(m.message_id, ''), m.body, m.headers, m.properties, m.key
    from onceward.queue_message m join onceward.queue q on q.id = m.queue_id
    where q.name <> 'onceward.verify'`)
  return rows.map(({ kind, target, key, body, headers, properties, broker_key }) => ({
    ...{ kind, target, key, body: textOf(body) },
    fields: { ...named('header', headers), ...named('property', { ...properties, key: broker_key }) },
  }))
}

/** Each value by itself, so that one which differs in every run does not hide the others. */
function named(prefix: string, values: Readonly<Record<string, unknown>>): Record<string, string> {
  const set = Object.entries(values).filter(([, value]) => value !== null)
  return Object.fromEntries(
    set.map(([name, value]) => [
      `${prefix} ${name}`,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )
}

/** The marker of each message, and each message that was set aside. */
export async function readOutcomes(client: SqlClient): Promise<readonly OutcomeRecord[]> {
  const { rows } = await client.query(`
    select i.message_id as id, i.status::text, coalesce(h.code, '') as code,
      coalesce(h.reason, i.reason, '') as reason
    from onceward.inbox i left join onceward.held h
      on h.consumer_id = i.consumer_id and h.message_id = i.message_id and h.digest = i.digest
    union
    select coalesce(message_id, ''), state::text, code, reason from onceward.held
    where state not in ('stored')`)
  return rows
}

function textOf(body: Buffer): string {
  const text = body.toString('utf8')
  return Buffer.from(text).equals(body) ? text : body.toString('hex')
}
