import type { DeliveryProperties } from '../ports/source.ts'
import type { Risk } from './contract.ts'

/** The words of a contract that other parts of the toolkit name too. */
export const risks = ['money', 'regulatory', 'notification', 'projection', 'telemetry', 'low value'] as const

/** One dead letter of these is an incident. */
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

/** Broker properties that an identity may be read from. */
export const properties: readonly (keyof DeliveryProperties)[] = [
  'messageId',
  'correlationId',
  'type',
  'contentType',
  'contentEncoding',
  'appId',
  'timestampMs',
]
