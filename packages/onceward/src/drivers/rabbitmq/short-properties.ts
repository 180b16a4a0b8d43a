import { createHash } from 'node:crypto'
import type { DeliveryProperties } from '../../ports/source.ts'

/** Limit of AMQP's short strings. */
const shortBytesMax = 255

const named = {
  correlationId: 'onceward-correlation-id',
  type: 'onceward-type',
  contentType: 'onceward-content-type',
  contentEncoding: 'onceward-content-encoding',
  appId: 'onceward-app-id',
} as const

export interface ShortProperties {
  /** The id, or its digest when it is too long: the broker identifies returned messages by it. */
  readonly messageId: string
  readonly properties: DeliveryProperties
  /** The values that did not fit, under our own names. */
  readonly headers: Readonly<Record<string, string>>
}

/** A property longer than AMQP allows would fail at every attempt; a header may have any length. */
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
