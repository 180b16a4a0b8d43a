import { OncewardError } from '../errors.ts'
import type { Consumer } from './define-consumer.ts'
import { durationText } from './duration.ts'
import type { ClassRules } from './failure-rules.ts'
import { shortestMarkersMs } from './retention.ts'

/**
 * The longest time after which a source may redeliver a message, and the setting that limits it; or the
 * reason why it is unknown. `trouble`: the broker is unavailable, or has no such topic.
 */
export type SourceWindow =
  | { readonly ms: number; readonly by: string }
  | { readonly unknown: string; readonly trouble?: OncewardError }

export interface NeededRetention {
  /** The longest time after which a duplicate can arrive. */
  readonly ms: number
  readonly reasons: readonly { readonly what: string; readonly ms: number }[]
}

type Reviewed = Pick<Consumer, 'name' | 'dedup' | 'failure' | 'batch' | 'replay' | 'retention'> &
  Pick<Partial<Consumer>, 'effect'>

/** Pure. The larger of the declared and the broker's value: a declaration cannot make a broker forget. */
export function neededRetention(consumer: Reviewed, source: SourceWindow): NeededRetention {
  const { sourceKeeps } = consumer.retention!
  const reasons = [
    { what: 'the longest series of retries in the failure policy', ms: retryHorizonMs(consumer) },
    { what: 'replay.window', ms: consumer.replay.windowMs ?? 0 },
  ]
  const repeatsMs = consumer.effect?.apply?.repeatsMs
  if (repeatsMs !== undefined)
    reasons.push({
      what: 'the window of the declared effect and its tolerance for late events',
      ms: repeatsMs,
    })
  if (sourceKeeps !== null) reasons.push({ what: 'retention.sourceKeeps', ms: sourceKeeps })
  if ('ms' in source && (sourceKeeps === null || Number.isFinite(source.ms)))
    reasons.push({ what: source.by, ms: source.ms })
  return { ms: Math.max(...reasons.map(reason => reason.ms)), reasons }
}

/**
 * Throws, with the numbers, if markers would be removed before the last duplicate can arrive. A consumer
 * without markers always passes.
 */
export function assertKeptLongEnough(consumer: Reviewed, source: SourceWindow): void {
  const { name, dedup, retention } = consumer
  if (retention === null || dedup !== 'marker') return
  if ('unknown' in source && retention.sourceKeeps === null) {
    if (source.trouble !== undefined) throw source.trouble
    throw new OncewardError(
      'retention_too_short',
      `Consumer ${name} removes markers after ${durationText(retention.markers)}, but it is unknown how long its source may redeliver a message: ${source.unknown}. Nothing was started and nothing was removed. Set retention.sourceKeeps, as in sourceKeeps: '14d'.`,
    )
  }
  const needed = neededRetention(consumer, source)
  const keptMs = shortestMarkersMs(retention)
  if (needed.ms <= keptMs) return
  const short = needed.reasons.filter(reason => reason.ms > keptMs)
  const text = short.map(({ what, ms }) => `${what}: ${termText(ms)}`).join('; ')
  const fix = Number.isFinite(needed.ms)
    ? `Set ${keptMs < retention.markers ? 'every term in retention.tenants' : 'retention.markers'} to at least ${durationText(needed.ms)}, or shorten the other.`
    : "Set retention.sourceKeeps to the greatest age of a message that is read again, as in sourceKeeps: '90d'; older messages are then parked. Or remove the retention section."
  throw new OncewardError(
    'retention_too_short',
    `Consumer ${name} would remove markers after ${durationText(keptMs)}, but a duplicate can arrive later (${text}) and would be applied again. Nothing was started and nothing was removed. ${fix}`,
    { details: { markersMs: keptMs, neededMs: needed.ms, reasons: needed.reasons } },
  )
}

/**
 * The sum of every attempt's longest delay and time limit: the longest of the classes that share a budget,
 * plus each class with its own.
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
  return Number.isFinite(ms) ? durationText(ms) : 'without limit'
}
