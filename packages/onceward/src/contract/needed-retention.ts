import { OncewardError } from '../errors.ts'
import type { Consumer } from './define-consumer.ts'
import { durationText } from './duration.ts'
import type { ClassRules } from './failure-rules.ts'

/**
 * How long a source may hand a message over again, and who says so; a text where nobody can say. `trouble`:
 * its broker is away, or has no such topic.
 */
export type SourceWindow =
  | { readonly ms: number; readonly by: string }
  | { readonly unknown: string; readonly trouble?: OncewardError }

export interface NeededRetention {
  /** The longest time after which a duplicate can reappear. */
  readonly ms: number
  readonly reasons: readonly { readonly what: string; readonly ms: number }[]
}

type Reviewed = Pick<Consumer, 'name' | 'dedup' | 'failure' | 'batch' | 'replay' | 'retention'>

/**
 * Pure. The larger of what is declared and what the broker says: a declaration cannot make a broker forget.
 */
export function neededRetention(consumer: Reviewed, source: SourceWindow): NeededRetention {
  const { sourceKeeps } = consumer.retention!
  const reasons = [
    { what: 'the longest row of retries of the failure policy', ms: retryHorizonMs(consumer) },
    { what: 'replay.window', ms: consumer.replay.windowMs ?? 0 },
  ]
  if (sourceKeeps !== null) reasons.push({ what: 'retention.sourceKeeps', ms: sourceKeeps })
  if ('ms' in source && (sourceKeeps === null || Number.isFinite(source.ms)))
    reasons.push({ what: source.by, ms: source.ms })
  return { ms: Math.max(...reasons.map(reason => reason.ms)), reasons }
}

/**
 * Throws, with the numbers, when markers would be gone before the last duplicate can have come. What writes
 * no markers cannot forget them.
 */
export function assertKeptLongEnough(consumer: Reviewed, source: SourceWindow): void {
  const { name, dedup, retention } = consumer
  if (retention === null || dedup !== 'marker') return
  if ('unknown' in source && retention.sourceKeeps === null) {
    if (source.trouble !== undefined) throw source.trouble
    throw new OncewardError(
      'retention_too_short',
      `Consumer ${name} removes markers after ${durationText(retention.markers)}, but nobody can say how long its source may hand a message over again: ${source.unknown}. Nothing was started and nothing was removed. Say so in retention.sourceKeeps, as in sourceKeeps: '14d'.`,
    )
  }
  const needed = neededRetention(consumer, source)
  if (needed.ms <= retention.markers) return
  const short = needed.reasons.filter(reason => reason.ms > retention.markers)
  const text = short.map(({ what, ms }) => `${what}: ${termText(ms)}`).join('; ')
  const fix = Number.isFinite(needed.ms)
    ? `Set retention.markers to at least ${durationText(needed.ms)}, or make the other shorter.`
    : "Say in retention.sourceKeeps how old a message may be that is read again, as in sourceKeeps: '90d'; older ones are then parked, or leave retention out."
  throw new OncewardError(
    'retention_too_short',
    `Consumer ${name} would remove markers after ${durationText(retention.markers)}, but a duplicate can reappear later (${text}) and would be applied again. Nothing was started and nothing was removed. ${fix}`,
    { details: { markersMs: retention.markers, neededMs: needed.ms, reasons: needed.reasons } },
  )
}

/**
 * Every attempt at its longest delay and deadline: of the classes that share a budget the longest, and those
 * that have their own each.
 */
export function retryHorizonMs({ failure, batch }: Pick<Consumer, 'failure' | 'batch'>): number {
  const rules = Object.values(failure.rules)
  const longest = (rule: ClassRules) => classHorizonMs(rule, batch.handlerTimeoutMs)
  const own = rules.filter(rule => rule.ownBudget).reduce((sum, rule) => sum + longest(rule), 0)
  return own + Math.max(0, ...rules.filter(rule => !rule.ownBudget).map(longest))
}

function classHorizonMs({ attemptsMax, delayMs, delayMaxMs }: ClassRules, handlerTimeoutMs: number): number {
  let ms = 0
  for (let attempt = 1; attempt <= attemptsMax; attempt++)
    ms += Math.min(delayMs * 2 ** Math.min(attempt, 40), delayMaxMs) + handlerTimeoutMs
  return ms
}

function termText(ms: number): string {
  return Number.isFinite(ms) ? durationText(ms) : 'for ever'
}
