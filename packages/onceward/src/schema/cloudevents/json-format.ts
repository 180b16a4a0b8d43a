import { isRecord } from '../../contract/check-values.ts'
import { exactJson } from '../../message/exact-json.ts'
import { type Attributes, type CloudEvent, checkedAttributes, isJsonType } from './cloud-event.ts'

export const structuredType = 'application/cloudevents+json'

/** True for an event, or a batch of events, in one body. */
export function isStructured(contentType: string | undefined): boolean {
  return contentType?.trim().toLowerCase().startsWith('application/cloudevents') === true
}

/** Throws on formats other than JSON, and on batches: a message is one event. */
export function assertJsonFormat(contentType: string): void {
  const media = contentType.split(';')[0]!.trim().toLowerCase()
  if (media !== structuredType) throw new TypeError(`CloudEvents as ${media.slice(0, 100)} are not read`)
}

/** Attributes, and data as JSON or as bytes, of a decoded body. */
export function fromJsonFormat(body: unknown): {
  readonly attributes: Attributes
  readonly data: { readonly json: unknown } | { readonly bytes: Buffer } | null
} {
  if (!isRecord(body)) throw new TypeError('a CloudEvent is a JSON object')
  const { data, data_base64: base64, ...rest } = body
  const attributes: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(rest)) {
    if (value === null) continue
    if (!['string', 'number', 'bigint', 'boolean'].includes(typeof value))
      throw new TypeError(`the CloudEvents attribute "${name.slice(0, 100)}" is ${typeof value}`)
    attributes[name] = String(value)
  }
  checkedAttributes(attributes)
  if (base64 === undefined) return { attributes, data: data === undefined ? null : { json: data } }
  if (data !== undefined) throw new TypeError('a CloudEvent with data and data_base64')
  if (typeof base64 !== 'string' || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64))
    throw new TypeError('data_base64 of the CloudEvent is not base64')
  return { attributes, data: { bytes: Buffer.from(base64, 'base64') } }
}

/** The body of an event. Bytes are written as base64, unless their type is JSON. */
export function toJsonFormat({ data, ...attributes }: CloudEvent): Buffer {
  const content =
    data === undefined
      ? {}
      : data instanceof Uint8Array
        ? { data_base64: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64') }
        : { data }
  return Buffer.from(exactJson({ ...attributes, ...content })!)
}

/** The bytes of data in binary mode. */
export function dataBytes(data: unknown, contentType: string | undefined): Buffer {
  if (data === undefined) return Buffer.alloc(0)
  if (data instanceof Uint8Array) return Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  if (typeof data === 'string' && !isJsonType(contentType)) return Buffer.from(data)
  const text = exactJson(data)
  if (text === undefined) throw new TypeError(`data of ${typeof data} cannot be written as JSON`)
  return Buffer.from(text)
}
