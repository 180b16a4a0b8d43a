import { errorText, OncewardError } from '../../errors.ts'
import { toStoredJson } from '../../stored-json.ts'
import type { SqlPool } from '../../stores/postgres/pool.ts'
import type { OutgoingMessage, Publisher } from './publisher.ts'

/** Looks before it inserts: an insert that meets a conflict would use up an identity value each time. */
const createMissingQueues = `
  insert into onceward.queue (name)
  select distinct name from unnest($1::text[]) as wanted (name)
  where not exists (select from onceward.queue where queue.name = wanted.name)
  on conflict do nothing`

const insertMessages = `
  insert into onceward.queue_message (queue_id, message_id, key, headers, properties, body)
  select queue.id, message_id, key, headers, properties, body
  from unnest($1::text[], $2::text[], $3::text[], $4::json[], $5::json[], $6::bytea[])
    with ordinality as message (queue, message_id, key, headers, properties, body, place)
  join onceward.queue on queue.name = message.queue
  order by place`

/** Publishes into queues of the same or another PostgreSQL, all or none; a queue that is missing is created. */
export function createPostgresPublisher(pool: SqlPool): Publisher {
  return {
    async publish(messages) {
      try {
        await pool.query(createMissingQueues, [messages.map(message => message.queue)])
        const { rowCount } = await pool.query(insertMessages, columnsOf(messages))
        if (rowCount === messages.length) return messages.map(() => 'confirmed')
        throw new Error(
          `${messages.length - (rowCount ?? 0)} of ${messages.length} messages met a queue that was just deleted`,
        )
      } catch (error) {
        const failure = new OncewardError(
          'publish_unconfirmed',
          `PostgreSQL did not confirm the messages: ${errorText(error, 500)}. They may or may not be stored, and will be published again under the same ids.`,
          { cause: error },
        )
        return messages.map(() => failure)
      }
    },
    async close() {},
  }
}

function columnsOf(messages: readonly OutgoingMessage[]): unknown[] {
  return [
    messages.map(message => message.queue),
    messages.map(message => message.messageId),
    messages.map(message => message.key),
    messages.map(message => toStoredJson(message.headers)),
    messages.map(message => toStoredJson(message.properties)),
    messages.map(message => message.body),
  ]
}
