import type { Consumer } from '../../contract/define-consumer.ts'
import type { Objectives } from '../../contract/objectives.ts'
import type { RecordedRule } from './alert-rules.ts'
import { number } from './promql.ts'
import { plainText } from './template-text.ts'

/** The recorded series that dashboards draw as objective lines. */
export const objectiveSeries = 'onceward:objective'

/** Objectives in the unit of the panel that draws them. */
const drawnObjectives = {
  lag_max_seconds: ({ lagMaxMs }) => lagMaxMs / 1_000,
  lag_records_max: ({ lagRecordsMax }) => lagRecordsMax,
  apply_p99_max_seconds: ({ applyP99MaxMs }) => applyP99MaxMs / 1_000,
  duplicate_share_max: ({ duplicateShareMax }) => duplicateShareMax,
  set_aside_max: ({ setAsideMax }) => setAsideMax,
  set_aside_age_max_seconds: ({ setAsideAgeMaxMs }) => setAsideAgeMaxMs / 1_000,
  outbox_age_max_seconds: ({ outboxAgeMaxMs }) => outboxAgeMaxMs / 1_000,
  parking_share_max: ({ parkingShareMax }) => parkingShareMax,
} as const satisfies Record<string, (objectives: Objectives) => number>

export type DrawnObjective = keyof typeof drawnObjectives

export function objectiveRules(
  { name, objectives }: Consumer,
  labels: Readonly<Record<string, string>>,
): RecordedRule[] {
  return Object.entries(drawnObjectives).map(([objective, read]) => ({
    record: objectiveSeries,
    expr: `vector(${number(read(objectives))})`,
    labels: { ...labels, consumer: plainText(name), objective },
  }))
}
