import { defineConsumer, type SqlTransaction, stale } from 'onceward'
import { topic } from 'onceward/kafka'
import { OrderEvent } from './messages.ts'
import { readSettings, type Settings } from './settings.ts'

/** The receiving consumer. Its inbox recognises the copies that a relay may publish. */
export function orderBoard(settings: Settings) {
  return defineConsumer<OrderEvent, SqlTransaction>({
    name: 'order_board',
    owner: 'logistics',
    risk: 'projection',
    source: topic(settings.topic, { group: settings.group, start: 'earliest' }),
    message: OrderEvent,
    identity: { id: { property: 'messageId' }, orderKey: m => m.orderId },
    order: 'key',
    retention: {},
    async handle({ message, tx }) {
      const { orderId, state, version } = message
      const { rowCount } = await tx.query(
        `insert into order_board as held values ($1, $2, $3, 1)
         on conflict (order_id) do update set state = excluded.state, version = excluded.version, moves = held.moves + 1
         where held.version = excluded.version - 1`,
        [orderId, state, version],
      )
      return rowCount === 0 ? stale(`version ${version} does not follow`, 'out_of_order') : undefined
    },
  })
}

export default orderBoard(readSettings())
