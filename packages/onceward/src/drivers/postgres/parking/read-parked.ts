import type { SqlPool } from '../pool.ts'

/** Where a message that needs attention is. */
export type ParkedState = 'parked' | 'dead' | 'quarantined'
/** Every state of a message that needs attention. */
export const parkedStates: readonly ParkedState[] = ['parked', 'dead', 'quarantined']

/** A message that needs attention, without its body. */
export interface ParkedRow {
  readonly id: string
  readonly consumer: string
  readonly generation: number
  readonly state: ParkedState
  /** Fingerprint of class, code and place. */
  readonly cause: string
  readonly failureClass: string
  readonly code: string
  /** Type and origin. */
  readonly place: string
  readonly reason: string
  readonly messageId: string | null
  readonly key: string | null
  readonly businessKey: string | null
  readonly attempts: number
  /** How often the same bytes were delivered. */
  readonly seen: number
  readonly firstAt: Date
  readonly lastAt: Date
  readonly bodyBytes: number
  readonly label: string | null
  readonly assignee: string | null
  /** Mode of the run that held it first. A redrive handles it in this mode. */
  readonly mode: string
  /** The campaign that held it; null for live messages. */
  readonly campaign: string | null
  /** Why a fixed message cannot be redriven yet: a second person must approve the new bytes. Else null. */
  readonly fixWaits: string | null
}

/** A selection. Its values are only ever parameters of a statement. */
export interface ParkedFilter {
  readonly consumer?: string | undefined
  readonly ids?: readonly string[] | undefined
  readonly states?: readonly ParkedState[] | undefined
  readonly cause?: string | undefined
  readonly key?: string | undefined
  readonly messageId?: string | undefined
  readonly label?: string | undefined
  readonly assignee?: string | undefined
  /** Only of these consumers. */
  readonly consumers?: readonly string[] | undefined
  readonly failureClass?: string | undefined
  readonly code?: string | undefined
  readonly businessKey?: string | undefined
  readonly type?: string | undefined
  /** First held at this time or later. */
  readonly since?: Date | undefined
  /** First held before this time. */
  readonly until?: Date | undefined
  /** One of these texts is in the payload, byte by byte. */
  readonly payloadHas?: readonly string[] | undefined
  /** Each of these texts is in the payload, byte by byte. */
  readonly payloadHasAll?: readonly string[] | undefined
  /** Id of the last row of the previous page. */
  readonly after?: string | undefined
  /** Id of the last row of the previous page, for the newest first. */
  readonly before?: string | undefined
  readonly newestFirst?: boolean | undefined
  readonly countMax: number
}

/**
 * Bodies are not read: above about 2 kB the server stores them outside the table and knows their length.
 */
const columns = `
  h.id::text, c.name as consumer, c.generation, h.state::text, h.failure_class as "failureClass", h.code,
  onceward.place_of(h.place, h.origin, h.message_type) as place,
  onceward.cause_of(h.failure_class, h.code, onceward.place_of(h.place, h.origin, h.message_type)) as cause, h.reason, h.message_id as "messageId",
  h.order_key as key, h.business_key as "businessKey", h.attempts, h.seen, h.first_at as "firstAt", h.last_at as "lastAt",
  octet_length(h.body) as "bodyBytes", t.label, t.assignee, h.mode, h.campaign_id::text as campaign,
  onceward.fix_waits(h.id) as "fixWaits"`

/**
 * The planner expects few rows of a rare value, and would read the whole table for each consumer and state
 * (six times among 100,000 messages, 0.8 s). It cannot look into this form, and walks the index of pages.
 */
const walked = (condition: string) => `coalesce(${condition}, false)`

type Condition = (place: string, state: ParkedState) => string

const conditions: readonly [keyof ParkedFilter, Condition][] = [
  ['ids', place => `h.id = any (${place}::bigint[])`],
  [
    'cause',
    place =>
      `onceward.cause_of(h.failure_class, h.code, onceward.place_of(h.place, h.origin, h.message_type)) = ${place}`,
  ],
  ['key', place => `h.order_key = ${place} and h.order_key is not null`],
  ['messageId', place => `h.message_id = ${place}`],
  ['label', place => `t.label = ${place}`],
  ['assignee', place => `t.assignee = ${place}`],
  ['consumers', place => `c.name = any (${place}::text[])`],
  ['failureClass', place => walked(`h.failure_class = ${place}`)],
  ['code', place => `h.code = ${place}`],
  [
    'businessKey',
    // Dead and quarantined messages have an index of it.
    (place, state) => {
      const same = `h.business_key = ${place}`
      return state === 'parked' ? walked(same) : same
    },
  ],
  ['type', place => walked(`h.message_type = ${place}`)],
  ['since', place => `h.first_at >= ${place}::timestamptz`],
  ['until', place => `h.first_at < ${place}::timestamptz`],
  [
    'payloadHas',
    place =>
      `exists (select from unnest(${place}::text[]) as t (text) where position(convert_to(t.text, 'UTF8') in h.body) > 0)`,
  ],
  [
    'payloadHasAll',
    place =>
      `not exists (select from unnest(${place}::text[]) as t (text) where position(convert_to(t.text, 'UTF8') in h.body) = 0)`,
  ],
  ['after', place => `h.id + 0 > ${place}::bigint`],
  ['before', place => `h.id + 0 < ${place}::bigint`],
]

/**
 * In order of ids, ascending unless `newestFirst`. Each consumer and state is one walk of an index whose last
 * column is `id + 0`, so a page costs the same regardless of the number of rows. The state is a literal, so
 * that the partial indexes can serve.
 */
export async function readParked(pool: SqlPool, filter: ParkedFilter): Promise<readonly ParkedRow[]> {
  const { text, values } = selectParked(filter)
  return (await pool.query(text, values)).rows
}

/** The statement of a page. */
export function selectParked(filter: ParkedFilter): {
  readonly text: string
  readonly values: readonly unknown[]
} {
  const values: unknown[] = [filter.consumer ?? null, filter.countMax]
  const given = conditions
    .filter(([name]) => filter[name] !== undefined)
    .map(([name, condition]) => ({ condition, place: `$${values.push(filter[name])}` }))
  const where = (state: ParkedState) => given.map(({ condition, place }) => `and ${condition(place, state)}`)
  const order = filter.newestFirst === true ? 'desc' : 'asc'
  const walks = (filter.states ?? parkedStates).map(
    state => `
      (select ${columns} from onceward.consumer c
       cross join lateral (
         select h.*, t.label, t.assignee from onceward.held h left join onceward.classification t on t.held_id = h.id
         where h.consumer_id = c.id and h.state = '${knownState(state)}' ${where(state).join(' ')}
         order by h.id + 0 ${order} limit $2) h
       cross join lateral (select h.label, h.assignee) t
       where $1::text is null or c.name = $1)`,
  )
  const text = `select * from (${walks.join(' union all ')}) found order by id::bigint ${order} limit $2`
  return { text, values }
}

export function knownState(state: ParkedState): ParkedState {
  return parkedStates.find(known => known === state)!
}
