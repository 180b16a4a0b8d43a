import { OncewardError } from '../../../errors.ts'
import { exactJson } from '../../../message/exact-json.ts'
import { toStoredJson } from '../../../message/stored-json.ts'
import type { DeliveryProperties } from '../../../ports/source.ts'

export interface PostgresMessage {
  /** Bytes are kept exactly, text as UTF-8, anything else as JSON. */
  readonly body: Buffer | Uint8Array | string | object
  readonly messageId?: string | undefined
  /** Messages of one key keep their order on a queue with `keyOrder`. */
  readonly key?: string | null | undefined
  readonly headers?: Readonly<Record<string, unknown>> | undefined
  readonly properties?: DeliveryProperties | undefined
}

/** Your open transaction: a `pg` client, the `tx` of a handler, or any object with `query`. */
export interface PublishTransaction {
  query(text: string, values?: unknown[]): Promise<unknown>
}

/**
 * Adds messages to a queue inside the transaction of the caller: they exist if and when it commits. Within
 * one call and one transaction ids follow the given order.
 */
export async function publish(
  tx: PublishTransaction,
  queueName: string,
  messages: readonly PostgresMessage[],
): Promise<void> {
  if (messages.length === 0) return
  const { rowCount } = (await tx.query(
    `insert into onceward.queue_message (queue_id, message_id, key, headers, properties, body)
     select q.id, m.message_id, m.key, m.headers, m.properties, m.body
     from onceward.queue q, unnest($2::text[], $3::text[], $4::json[], $5::json[], $6::bytea[])
       with ordinality as m (message_id, key, headers, properties, body, place)
     where q.name = $1 order by m.place`,
    [
      queueName,
      messages.map(message => message.messageId ?? message.properties?.messageId ?? null),
      messages.map(message => message.key ?? null),
      messages.map(message => jsonText(message.headers)),
      messages.map(message => jsonText(message.properties)),
      messages.map(message => bytesOf(message.body)),
    ],
  )) as { rowCount: number | null }
  if (rowCount !== messages.length) {
    throw new OncewardError(
      'configuration',
      `Queue ${queueName} does not exist, nothing was published. Create it with createQueue before the first publish.`,
    )
  }
}

function bytesOf(body: PostgresMessage['body']): Buffer {
  if (Buffer.isBuffer(body)) return body
  if (body instanceof Uint8Array) return Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  return Buffer.from(typeof body === 'string' ? body : exactJson(body))
}

function jsonText(value: object | null | undefined): string {
  return value === undefined || value === null ? '{}' : toStoredJson(value)
}
