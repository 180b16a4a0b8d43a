import type { DeliveryProperties } from '../ports/source.ts'
import type { Risk } from './contract.ts'

/** Words of a contract that other rooms use too. */
export const risks = ['money', 'regulatory', 'notification', 'projection', 'telemetry', 'low value'] as const

/** For these, a single dead letter is an incident. */
export const criticalRisks: ReadonlySet<Risk> = new Set(['money', 'regulatory', 'notification'])

export const campaignModes = ['replay', 'backfill', 'rebuild', 'repair', 'forensic'] as const

export const failureClasses = [
  'transient',
  'overload',
  'rate limited',
  'business conflict',
  'validation',
  'poison',
  'configuration',
  'corruption',
] as const

/** Broker properties from which an identity may be read. */
export const properties: readonly (keyof DeliveryProperties)[] = [
  'messageId',
  'correlationId',
  'type',
  'contentType',
  'contentEncoding',
  'appId',
  'timestampMs',
]
