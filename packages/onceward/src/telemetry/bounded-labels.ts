import type { Attributes } from '@opentelemetry/api'
import type { Label } from './catalogue.ts'

/**
 * Labels whose values come from brokers, errors and messages. The others are names from contracts or words of
 * this code.
 */
const fromOutside: ReadonlySet<Label> = new Set<Label>([
  'code',
  'cause',
  'reason',
  'class',
  'type',
  'result',
  'messaging.destination.name',
])

const valuesMax = 100
const lengthMax = 120
export const other = 'other'

/**
 * Keeps the first hundred values of each label from outside; later values become `other`. A producer that
 * writes a new type or error code into every message creates one time series, not a million.
 */
export function boundedLabels(labels: readonly Label[]): (given: Attributes) => Attributes {
  const bounds = labels.filter(label => fromOutside.has(label)).map(label => ({ label, seen: new Set() }))
  if (bounds.length === 0) return given => given
  return given => {
    for (const { label, seen } of bounds) {
      const value = given[label]
      if (value === undefined || seen.has(value)) continue
      if (seen.size < valuesMax && isPlain(value)) seen.add(value)
      else given[label] = other
    }
    return given
  }
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' && value.length <= lengthMax && /^[\x20-\x7e]*$/.test(value)
}
