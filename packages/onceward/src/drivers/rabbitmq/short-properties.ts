import { createHash } from 'node:crypto'
import type { DeliveryProperties } from '../../ports/source.ts'

/** AMQP's short texts. */
const shortBytesMax = 255

const named = {
  correlationId: 'onceward-correlation-id',
  type: 'onceward-type',
  contentType: 'onceward-content-type',
  contentEncoding: 'onceward-content-encoding',
  appId: 'onceward-app-id',
} as const

export interface ShortProperties {
  /** Itself, or where it is too long its digest: the broker names what it returns by this. */
  readonly messageId: string
  readonly properties: DeliveryProperties
  /** What did not fit, under names of our own. */
  readonly headers: Readonly<Record<string, string>>
}

/** A property longer than AMQP can carry would fail at every try, for ever; a header may be of any length. */
export function shortProperties(messageId: string, properties: DeliveryProperties = {}): ShortProperties {
  const headers: Record<string, string> = {}
  const short: Record<string, unknown> = { ...properties }
  for (const [property, header] of Object.entries(named)) {
    const value = short[property]
    if (typeof value !== 'string' || fits(value)) continue
    headers[header] = value
    delete short[property]
  }
  if (fits(messageId)) return { messageId, properties: short, headers }
  const digest = createHash('sha256').update(messageId).digest('hex')
  return {
    messageId: `sha256:${digest}`,
    properties: short,
    headers: { ...headers, 'onceward-message-id': messageId },
  }
}

function fits(text: string): boolean {
  return Buffer.byteLength(text) <= shortBytesMax
}
