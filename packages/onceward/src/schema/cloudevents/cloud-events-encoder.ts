import type { EncodedMessage, EncodePlace, MessageEncoder } from '../../contract/publish-target.ts'
import type { Binding } from './bindings.ts'
import type { CloudEvent } from './cloud-event.ts'
import { type CloudEventMode, writeCloudEvent } from './write-cloud-event.ts'

/** Options of the encoder for CloudEvents. */
export interface CloudEventsEncoderOptions {
  /** The `source` of events that have none: a URI reference of this producer, such as `/shop/orders`. */
  readonly source: string
  /** Default `binary`: attributes in headers, data as the body. */
  readonly mode?: CloudEventMode
  /** Writes `data`, such as `avroEncoder(…)`. Default: bytes unchanged, any other value as JSON. */
  readonly data?: MessageEncoder
}

/**
 * An event to publish. `id` is the message id, and `type` that of the request, unless they are given. `time`
 * is never made up: a repeat of the message must have the same bytes.
 */
export type CloudEventBody = Partial<CloudEvent>

const bindings: Readonly<Record<EncodePlace['broker'], Binding>> = {
  kafka: 'kafka',
  cdc: 'kafka',
  rabbitmq: 'amqp',
  postgres: 'postgres',
}

/** Publishes each body as a CloudEvent. */
export function cloudEventsEncoder({
  source,
  mode = 'binary',
  data,
}: CloudEventsEncoderOptions): MessageEncoder {
  const write = (event: CloudEventBody, place: EncodePlace, headers: EncodedMessage['headers'] = {}) => {
    const whole = { specversion: '1.0', source, id: place.id, type: place.type, ...event } as CloudEvent
    const withType =
      whole.data === undefined || whole.datacontenttype !== undefined
        ? whole
        : { ...whole, datacontenttype: defaultType(whole.data) }
    const encoded = writeCloudEvent(withType, mode, bindings[place.broker])
    return { ...encoded, headers: { ...headers, ...encoded.headers } }
  }
  const withBytes = (
    event: CloudEventBody,
    place: EncodePlace,
    { body, contentType, headers }: EncodedMessage,
  ) => write({ ...event, data: body, ...(contentType && { datacontenttype: contentType }) }, place, headers)
  return {
    name: data === undefined ? 'cloudevents' : `cloudevents of ${data.name}`,
    encode(body, place) {
      if (typeof body !== 'object' || body === null)
        throw new TypeError('the body must be an event with data')
      const event = body as CloudEventBody
      if (data === undefined || event.data === undefined) return write(event, place)
      const encoded = data.encode(event.data, place)
      if (!(encoded instanceof Promise)) return withBytes(event, place, encoded)
      const attributes = { ...event }
      return encoded.then(ready => withBytes(attributes, place, ready))
    },
  }
}

function defaultType(data: unknown): string {
  return data instanceof Uint8Array ? 'application/octet-stream' : 'application/json'
}
