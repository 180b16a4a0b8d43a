import { wideDigits } from '../../message/wide-integer.ts'
import type { Attributes } from './cloud-event.ts'

/** Kafka, and queues in PostgreSQL, for which no binding is defined. */
const kafkaPrefix = 'ce_'
/** AMQP: the colon is what is written; the underscore is for clients that cannot carry it. */
const amqpPrefixes = ['cloudEvents:', 'cloudEvents_'] as const
const httpPrefix = 'ce-'

/** The attributes in headers of Kafka, AMQP, HTTP or PostgreSQL; null if there are none. */
export function attributesIn(
  headers: Readonly<Record<string, unknown>>,
  contentType: string | undefined,
): Attributes | null {
  const found: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(headers)) {
    const attribute = attributeOf(name)
    if (attribute === null) continue
    const text = name.toLowerCase().startsWith(httpPrefix) ? unescaped(textOf(value)) : textOf(value)
    if (found[attribute] !== undefined && found[attribute] !== text)
      throw new TypeError(`the CloudEvents attribute "${attribute.slice(0, 100)}" is given twice`)
    found[attribute] = text
  }
  if (Object.keys(found).length === 0) return null
  if (contentType !== undefined) found.datacontenttype = contentType
  return found
}

function attributeOf(name: string): string | null {
  if (name.startsWith(kafkaPrefix)) return name.slice(kafkaPrefix.length)
  const amqp = amqpPrefixes.find(prefix => name.startsWith(prefix))
  if (amqp !== undefined) return name.slice(amqp.length)
  const lower = name.toLowerCase()
  return lower.startsWith(httpPrefix) ? lower.slice(httpPrefix.length) : null
}

function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return new TextDecoder('utf-8', { fatal: true }).decode(value)
  if (value instanceof Date) return value.toISOString()
  const text = wideDigits(value) ?? value
  if (['string', 'number', 'bigint', 'boolean'].includes(typeof text)) return String(text)
  throw new TypeError(`a CloudEvents attribute of type ${typeof value}`)
}

export type Binding = 'kafka' | 'amqp' | 'http' | 'postgres'

/** The headers of an event in binary mode. The content type travels beside them. */
export function headersOf(binding: Binding, { datacontenttype: _, ...attributes }: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => {
      switch (binding) {
        case 'amqp':
          return [amqpPrefixes[0] + name, value]
        case 'http':
          return [httpPrefix + name, escaped(value)]
        default:
          return [kafkaPrefix + name, value]
      }
    }),
  )
}

/** HTTP: everything but visible ASCII, and space, quote and percent, as percent-encoded UTF-8. */
function escaped(value: string): string {
  return value.replaceAll(/[^\x21\x23\x24\x26-\x7e]+/g, text =>
    [...Buffer.from(text.toWellFormed())].map(byte => `%${hexOf(byte)}`).join(''),
  )
}

function hexOf(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0')
}

/** Quoted text and single escapes too, as the binding asks of readers. */
function unescaped(value: string): string {
  const quoted = /^"(.*)"$/s.exec(value)
  const text = quoted === null ? value : quoted[1]!.replaceAll(/\\(.)/gs, '$1')
  try {
    return decodeURIComponent(text.replaceAll(/%(?![0-9a-fA-F]{2})/g, '%25'))
  } catch {
    throw new TypeError('a CloudEvents header with percent-encoded bytes that are not UTF-8')
  }
}
