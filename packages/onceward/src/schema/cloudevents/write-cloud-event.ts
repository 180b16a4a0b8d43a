import type { EncodedMessage } from '../../contract/publish-target.ts'
import { type Binding, headersOf } from './bindings.ts'
import { type Attributes, type CloudEvent, checkedAttributes } from './cloud-event.ts'
import { dataBytes, structuredType, toJsonFormat } from './json-format.ts'

/** How a CloudEvent travels: in headers, or as a whole in the body. */
export type CloudEventMode = 'binary' | 'structured'

/** The bytes, content type and headers of an event. Throws a TypeError on one that does not conform. */
export function writeCloudEvent(event: CloudEvent, mode: CloudEventMode, binding: Binding): EncodedMessage {
  const attributes = attributesOf(event)
  if (mode === 'structured')
    return { body: toJsonFormat({ ...attributes, data: event.data } as never), contentType: structuredType }
  const contentType = attributes.datacontenttype
  return {
    body: dataBytes(event.data, contentType),
    ...(contentType !== undefined && { contentType }),
    headers: headersOf(binding, attributes),
  }
}

function attributesOf({ data: _, ...rest }: CloudEvent): Attributes {
  const attributes: Record<string, string> = {}
  for (const [name, value] of Object.entries(rest)) {
    if (value === undefined) continue
    if (!['string', 'number', 'bigint', 'boolean'].includes(typeof value))
      throw new TypeError(`the CloudEvents attribute "${name}" must be a string, a number or a boolean`)
    attributes[name] = String(value)
  }
  return checkedAttributes(attributes)
}
