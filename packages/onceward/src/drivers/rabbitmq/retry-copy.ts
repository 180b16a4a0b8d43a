import { bareCopy, bareMap } from '../../message/bare-map.ts'
import { deathHeaders, retryHeader } from '../../ports/retry-levels.ts'
import type { DeliveryProperties } from '../../ports/source.ts'

interface AsFirst {
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  readonly key: string
}

/**
 * Restores a copy that returns from a delay level to the form of its first delivery, with the routing key,
 * properties and headers of its identity. Null for every other message, and for an untrusted table.
 */
export function asFirstDelivered(headers: Readonly<Record<string, unknown>>, queue: string): AsFirst | null {
  const table = headers[retryHeader]
  if (!isTable(table) || table.queue !== queue || typeof table.key !== 'string') return null
  if (!isTable(table.properties) || !isTable(table.was)) return null
  const first = bareCopy(headers)
  for (const name of [retryHeader, ...deathHeaders]) delete first[name]
  for (const name of deathHeaders) if (table.was[name] !== undefined) first[name] = table.was[name]
  return { headers: first, properties: propertiesOf(table.properties), key: table.key }
}

const texts = ['messageId', 'correlationId', 'type', 'contentType', 'contentEncoding', 'appId'] as const

/** Any publisher may write such a table, so only valid property values are taken from it. */
function propertiesOf(from: Readonly<Record<string, unknown>>): DeliveryProperties {
  const to = bareMap<DeliveryProperties>()
  for (const name of texts) if (typeof from[name] === 'string') to[name] = from[name]
  if (typeof from.timestampMs === 'number') to.timestampMs = from.timestampMs
  return to
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
