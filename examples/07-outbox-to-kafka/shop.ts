import { stableId } from 'onceward'
import { publishInTransaction } from 'onceward/outbox'
import type { OrderEvent } from './messages.ts'

/** A `pg` pool, or any pool with such clients. */
interface Database {
  connect(): Promise<Client>
}
interface Client {
  query(text: string, values?: unknown[]): Promise<{ rows: { version: number }[] }>
  release(): void
}

/**
 * Moves an order to its next state and writes the event, in one transaction: the row and the event commit or
 * roll back together. The update locks the row and the event is written after it, so the events of an order
 * are published in the order of its versions.
 */
export async function moveOrder(
  database: Database,
  topic: string,
  order: { readonly orderId: string; readonly customer: string; readonly state: OrderEvent['state'] },
): Promise<OrderEvent> {
  const { orderId, customer, state } = order
  const client = await database.connect()
  try {
    await client.query('begin')
    const { rows } = await client.query(
      `insert into shop_order as known (order_id, customer, state, version) values ($1, $2, $3, 1)
       on conflict (order_id) do update set state = excluded.state, version = known.version + 1, changed_at = clock_timestamp()
       returning version`,
      [orderId, customer, state],
    )
    const { version } = rows[0]!
    // The same step of the same order has the same event id in every process and at every repeat.
    const event = { eventId: stableId('order', orderId, version), orderId, version, state }
    await publishInTransaction(client, { broker: 'kafka', topic }, [
      { id: event.eventId, key: orderId, type: `order.${state}`, body: event },
    ])
    await client.query('commit')
    return event
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}
