import type { Risk } from './contract.ts'
import { durationMs } from './duration.ts'
import type { ObjectivesSection } from './upkeep-sections.ts'

/** A contract's objectives with everything decided; durations in milliseconds. */
export interface Objectives {
  readonly lagMaxMs: number
  readonly lagRecordsMax: number
  readonly applyP99MaxMs: number
  readonly duplicateShareMax: number
  readonly setAsideMax: number
  readonly setAsideAgeMaxMs: number
  readonly claimsExpiredPerHourMax: number
  readonly outboxAgeMaxMs: number
  readonly parkingShareMax: number
  /** Null: compared with the day before. */
  readonly idleMaxMs: number | null
}

/** Somebody waits for money, an authority and a notification; a projection is looked at; the rest is read later. */
const lagByRisk: Record<Risk, string> = {
  money: '1m',
  regulatory: '1m',
  notification: '1m',
  projection: '5m',
  telemetry: '15m',
  'low value': '1h',
}

/** One dead letter of these is an incident. */
export const criticalRisks: ReadonlySet<Risk> = new Set(['money', 'regulatory', 'notification'])

/** Applies the defaults. Pure; every value can be read already. */
export function resolveObjectives(
  section: ObjectivesSection,
  { risk, handlerTimeoutMs }: { readonly risk: Risk; readonly handlerTimeoutMs: number },
): Objectives {
  const lagMaxMs = durationMs(section.lagMax ?? lagByRisk[risk]) ?? 0
  return {
    lagMaxMs,
    lagRecordsMax: section.lagRecordsMax ?? 10_000,
    applyP99MaxMs: durationMs(section.applyP99Max) ?? handlerTimeoutMs / 2,
    duplicateShareMax: section.duplicateShareMax ?? 0.1,
    setAsideMax: section.setAsideMax ?? (criticalRisks.has(risk) ? 0 : 10),
    setAsideAgeMaxMs: durationMs(section.setAsideAgeMax) ?? 24 * 3_600_000,
    claimsExpiredPerHourMax: section.claimsExpiredPerHourMax ?? 5,
    outboxAgeMaxMs: durationMs(section.outboxAgeMax) ?? lagMaxMs,
    parkingShareMax: section.parkingShareMax ?? 0.8,
    idleMaxMs: durationMs(section.idleMax),
  }
}
