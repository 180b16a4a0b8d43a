import { withDefaults } from '../../contract/options/defaults.ts'
import type { Limits } from '../../message/limits.ts'
import type { CloudEvent } from './cloud-event.ts'
import { type CloudEventsCodecOptions, cloudEventsCodec } from './cloud-events-codec.ts'
import { type CloudEventMode, writeCloudEvent } from './write-cloud-event.ts'

/** A request or answer with an event. */
export interface CloudEventHttp {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** Headers and body of a request that sends the event. */
export function cloudEventToHttp(event: CloudEvent, mode: CloudEventMode = 'binary'): CloudEventHttp {
  const { body, contentType, headers } = writeCloudEvent(event, mode, 'http')
  const type = mode === 'structured' ? `${contentType}; charset=utf-8` : contentType
  return {
    headers: { ...(headers as Record<string, string>), ...(type !== undefined && { 'content-type': type }) },
    body,
  }
}

/** The event of a request. Rejects with a TypeError or RangeError for what is none, or exceeds a limit. */
export async function cloudEventFromHttp(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  body: Uint8Array,
  options: CloudEventsCodecOptions & { readonly limits?: Partial<Limits> } = {},
): Promise<CloudEvent> {
  const limits = withDefaults('message.limits', options.limits ?? {})
  if (body.length > limits.bytesMax)
    throw new RangeError(`body of ${body.length} bytes, limit ${limits.bytesMax}`)
  const single = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name.toLowerCase(), typeof value === 'string' ? value : value.join(', ')]],
  )
  const { 'content-type': contentType, ...rest } = Object.fromEntries(single) as Record<string, string>
  const delivery = { headers: rest, properties: contentType === undefined ? {} : { contentType }, key: null }
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  return (await cloudEventsCodec(options).decode(bytes, limits, delivery)) as CloudEvent
}
