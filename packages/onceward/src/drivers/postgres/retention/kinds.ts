export type RetainedKind =
  | 'markers'
  | 'businessKeys'
  | 'notes'
  | 'attempts'
  | 'effects'
  | 'deadLetters'
  | 'receipts'
  | 'suppressedEffects'
  | 'heldActions'

/**
 * The table of a kind, and the conditions for rows of a consumer and for finished rows. `t` is the row, $1
 * the consumer.
 *
 * The conditions leave the planner no choice, regardless of statistics: `+ 0` prevents reading all rows of a
 * consumer by index for each range of blocks, `offset 0` prevents scanning a whole table for a few lookups.
 */
export interface RetentionKind {
  readonly kind: RetainedKind
  readonly table: string
  /** The time from which the row ages. */
  readonly since: string
  readonly mine: string
  readonly finished: string
  /** Columns that an archive contains. */
  readonly archived: readonly string[]
  /** Removed by whole days, through a function of the database: no process may change the rows. */
  readonly byDay?: boolean
}

const unfinishedMarker = `exists (select from onceward.inbox m where m.consumer_id = t.consumer_id
  and m.message_id = t.message_id and m.status in ('stored', 'waiting', 'parked') offset 0)`

/** Messages that wait for the key need it to be recognised. */
const isAwaited = (key: string) => `exists (select from onceward.held w where w.consumer_id = t.consumer_id
  and w.business_key = ${key} and w.business_key is not null and w.keyless offset 0)`

/**
 * In the order of a pass. An unfinished message keeps its marker regardless of age, and with it its business
 * key, notes and attempts. Dead and quarantined messages keep theirs until their bytes are removed.
 */
export const kinds: readonly RetentionKind[] = [
  {
    kind: 'markers',
    table: 'onceward.inbox',
    since: 't.at',
    mine: 't.consumer_id + 0 = $1',
    finished: `(t.status in ('applied', 'ignored', 'duplicate', 'stale') or (t.status in ('dead', 'quarantined')
      and not exists (select from onceward.held h where h.consumer_id = t.consumer_id and h.message_id = t.message_id
        and h.state in ('parked', 'dead', 'quarantined') offset 0)))`,
    archived: [
      'message_id',
      `encode(digest, 'hex') as digest`,
      'status',
      'run_id',
      'position',
      'at',
      'reason',
      'arrived_at',
    ],
  },
  {
    kind: 'businessKeys',
    table: 'onceward.business_key',
    since: 't.at',
    mine: 't.consumer_id + 0 = $1',
    finished: `not ${unfinishedMarker} and not ${isAwaited('t.key')}`,
    archived: ['key', 'message_id', `encode(digest, 'hex') as digest`, 'at'],
  },
  {
    kind: 'notes',
    table: 'onceward.note',
    since: 't.at',
    mine: 't.consumer_id + 0 = $1',
    finished: `not ${unfinishedMarker}`,
    archived: ['message_id', 'code', 'detail', 'at', 'times', 'last_at', 'run_id'],
  },
  {
    kind: 'attempts',
    table: 'onceward.attempt',
    // By the last attempt: while a message is still tried, its count must not restart.
    since: `(select max(a.at) from onceward.attempt a where a.consumer_id = t.consumer_id and a.message_id = t.message_id)`,
    mine: 't.consumer_id + 0 = $1',
    finished: `not ${unfinishedMarker}`,
    archived: ['message_id', 'number', 'run_id', 'failure_class', 'code', 'error', 'at'],
  },
  {
    kind: 'effects',
    table: 'onceward.ledger',
    since: 't.completed_at',
    mine: `t.consumer_name || '' = (select name from onceward.consumer where id = $1)`,
    finished: `t.state = 'completed'`,
    archived: [
      'id',
      'target',
      'effect_key',
      'message_id',
      'attempts',
      'created_at',
      'completed_at',
      `encode(request_digest, 'hex') as request_digest`,
      'response_status',
      `encode(response_digest, 'hex') as response_digest`,
    ],
  },
  {
    kind: 'deadLetters',
    table: 'onceward.held',
    since: 't.last_at',
    mine: 't.consumer_id + 0 = $1',
    // The head of a blocked key stays, and so does a message that may hold a business key for which others
    // wait: without it their wait could not be explained.
    finished: `t.state in ('dead', 'quarantined') and not exists (select from onceward.blocked_key b
      where b.consumer_id = t.consumer_id and b.key = t.order_key offset 0) and not ${isAwaited('t.business_key')}`,
    // Whole messages: a campaign reads them back as they were delivered. A fix that waits for approval is not
    // included.
    archived: [
      '(select c.name from onceward.consumer c where c.id = consumer_id) as consumer',
      '(select c.generation from onceward.consumer c where c.id = consumer_id) as generation',
      'id',
      'state',
      'message_id',
      `encode(digest, 'hex') as digest`,
      'first_at',
      'last_at',
      'reason',
      'failure_class',
      'code',
      'attempts',
      'origin',
      'position',
      'broker_key',
      'headers',
      'properties',
      `encode(onceward.body_of(id, body), 'base64') as body`,
    ],
  },
  {
    kind: 'receipts',
    table: 'onceward.receipt',
    // The end of its day.
    since: `(date_trunc('day', t.at, 'UTC') + interval '1 day')`,
    mine: 't.consumer_id + 0 = $1',
    finished: 'true',
    archived: [
      '(select c.name from onceward.consumer c where c.id = t.consumer_id) as consumer',
      '(select c.generation from onceward.consumer c where c.id = t.consumer_id) as generation',
      'run_id',
      'at',
      'count',
      'facts',
      `encode(digests, 'hex') as digests`,
      `encode(payloads, 'base64') as payloads`,
    ],
    byDay: true,
  },
  {
    kind: 'suppressedEffects',
    table: 'onceward.suppressed_effect',
    since: 't.at',
    mine: `t.campaign_id + 0 in (select c.id from onceward.campaign c join onceward.consumer o on o.name = c.consumer_name where o.id = $1)`,
    finished: `exists (select from onceward.campaign c where c.id = t.campaign_id and c.state in ('finished', 'cancelled') offset 0)`,
    archived: ['campaign_id', 'kind', 'target', 'key', 'message_id', `encode(digest, 'hex') as digest`, 'at'],
  },
  {
    kind: 'heldActions',
    table: 'onceward.held_action',
    since: 't.at',
    mine: 't.consumer_id + 0 = $1',
    finished: `not exists (select from onceward.held h where h.id = t.held_id offset 0)`,
    archived: ['held_id', 'at', 'actor', 'reason', 'action'],
  },
]

export interface KindTerm {
  readonly kind: RetentionKind
  /** The shortest term of any tenant. */
  readonly keepMs: number
  readonly tenancy?: TenantTerms
}

/** By how much the rows of each tenant are kept longer than the shortest term. */
export interface TenantTerms {
  readonly separator: string
  readonly laterMs: Readonly<Record<string, number>>
  readonly othersLaterMs: number
}

/** The condition that row `t` has expired. `at` is the placeholder of the cutoff; the tenants' follow it. */
export function expiredSql({ since }: RetentionKind, at: number, tenancy: TenantTerms | undefined): string {
  if (tenancy === undefined) return `${since} < $${at}::timestamptz`
  const later = `($${at + 1}::jsonb ->> split_part(t.message_id, $${at + 2}, 1))::float8`
  return `${since} < $${at}::timestamptz - coalesce(${later}, $${at + 3}::float8) * interval '1 millisecond'`
}

/** The values of `expiredSql` after the cutoff. */
export function tenancyValues(tenancy: TenantTerms | undefined): readonly unknown[] {
  return tenancy === undefined
    ? []
    : [JSON.stringify(tenancy.laterMs), tenancy.separator, tenancy.othersLaterMs]
}

/** The kinds whose rows hold a whole message. */
export const messageKinds: ReadonlySet<string> = new Set<RetainedKind>(['deadLetters'])
