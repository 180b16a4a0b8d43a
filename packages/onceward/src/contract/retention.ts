import type { Risk } from './contract.ts'
import { durationMs } from './duration.ts'
import type { RetentionSection } from './upkeep-sections.ts'

/** A contract's retention with everything decided, in milliseconds. */
export interface Retention {
  readonly markers: number
  readonly businessKeys: number
  readonly effects: number
  readonly notes: number
  readonly attempts: number
  readonly wouldHave: number
  readonly heldActions: number
  /** Null: never removed. */
  readonly deadLetters: number | null
  /** Null: the source is asked. */
  readonly sourceKeeps: number | null
  readonly action: 'delete' | 'archive'
  readonly behindHorizon: 'park' | 'apply'
  readonly partitions: 'daily' | null
}

/** How far the database's date may be from ours, or from where it should be, before nothing is removed. */
export const clockToleranceMs = 3_600_000

/** Money is audited for years, a projection can be rebuilt, telemetry matters as long as its windows may still change. */
const markersByRisk: Record<Risk, string> = {
  money: '7y',
  regulatory: '10y',
  notification: '90d',
  projection: '30d',
  telemetry: '14d',
  'low value': '7d',
}

const parksOldMessages: ReadonlySet<Risk> = new Set(['money', 'regulatory', 'notification'])

/** Applies the defaults. Pure; every duration can be read already. */
export function resolveRetention(section: RetentionSection, risk: Risk): Retention {
  const markers = durationMs(section.markers ?? markersByRisk[risk]) ?? 0
  const orMarkers = (value: RetentionSection['markers']) =>
    value === undefined ? markers : durationMs(value)!
  const orNull = (value: RetentionSection['markers']) => (value === undefined ? null : durationMs(value))
  return {
    markers,
    businessKeys: orMarkers(section.businessKeys),
    effects: orMarkers(section.effects),
    notes: orMarkers(section.notes),
    attempts: orMarkers(section.attempts),
    wouldHave: orMarkers(section.wouldHave),
    heldActions: orMarkers(section.heldActions),
    deadLetters: orNull(section.deadLetters),
    sourceKeeps: orNull(section.sourceKeeps),
    action: section.action ?? 'delete',
    behindHorizon: section.behindHorizon ?? (parksOldMessages.has(risk) ? 'park' : 'apply'),
    partitions: section.partitions ?? null,
  }
}
