import { bareCopy, bareMap } from '../../message/bare-map.ts'
import { deathHeaders, retryHeader } from '../../ports/retry-levels.ts'
import type { DeliveryProperties } from '../../ports/source.ts'

interface AsFirst {
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  readonly key: string
}

/**
 * A copy that comes back from a delay level, as the message was when it was first handed over: routing key,
 * properties and headers are those its identity was read from. Null for everything else, and for a table that
 * is not ours to believe.
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

/** Anybody may write such a table: only what a property can be is taken from it. */
function propertiesOf(from: Readonly<Record<string, unknown>>): DeliveryProperties {
  const to = bareMap<DeliveryProperties>()
  for (const name of texts) if (typeof from[name] === 'string') to[name] = from[name]
  if (typeof from.timestampMs === 'number') to.timestampMs = from.timestampMs
  return to
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
