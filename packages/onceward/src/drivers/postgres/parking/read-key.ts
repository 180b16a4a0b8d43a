import type { SqlPool } from '../pool.ts'

/** An order key with its held messages, in the order in which they will be processed. */
export interface KeyView {
  readonly consumer: string
  readonly key: string
  /** Null when the key is not blocked. */
  readonly blocked: {
    readonly since: Date
    /** `parked`: waits for an operator. `released`: workers process its messages. */
    readonly state: 'parked' | 'released'
    readonly waiting: number
  } | null
  readonly messages: readonly KeyMessage[]
  /** More messages are held under this key than are shown. */
  readonly more: boolean
}

export interface KeyMessage {
  readonly id: string
  readonly state: string
  readonly messageId: string | null
  readonly code: string
  readonly reason: string
  readonly firstAt: Date
  /** The message is processed next, or the others wait for it. */
  readonly head: boolean
}

const ofKey = `
  select h.id::text, h.state::text, h.message_id as "messageId", h.code, h.reason, h.first_at as "firstAt"
  from onceward.held h join onceward.consumer c on c.id = h.consumer_id
  where c.name = $1 and h.order_key = $2 and h.order_key is not null`

/** Three index walks: stored and parked, quarantined, waiting. */
export async function readKey(
  pool: SqlPool,
  consumer: string,
  key: string,
  countMax: number,
): Promise<KeyView> {
  const { rows: blocked } = await pool.query(
    `select b.since, b.state, b.waiting from onceward.blocked_key b
     join onceward.consumer c on c.id = b.consumer_id where c.name = $1 and b.key = $2`,
    [consumer, key],
  )
  const walks = [`h.state in ('stored', 'parked')`, `h.state = 'quarantined'`, `h.state = 'waiting'`].map(
    states => `(${ofKey} and ${states} order by h.id limit $3)`,
  )
  const { rows } = await pool.query(
    `select * from (${walks.join(' union all ')}) k order by id::bigint limit $3`,
    [consumer, key, countMax + 1],
  )
  const messages = rows.slice(0, countMax).map((row, index) => ({ ...row, head: index === 0 }))
  return { consumer, key, blocked: blocked[0] ?? null, messages, more: rows.length > countMax }
}
