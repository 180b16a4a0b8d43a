import type { From } from '../../contract/contract.ts'
import type { Consumer } from '../../contract/define-consumer.ts'
import { readerFor } from '../../message/identity.ts'
import type { Received } from '../../message/received.ts'
import { processDied } from '../../ports/suspects.ts'
import type { CounterKey, Labels, Metrics } from '../../telemetry/metrics.ts'
import type { Decided } from '../batch/batch-attempt.ts'
import { type Decision, type Outcome, redeliveredCode } from '../batch/outcome.ts'

const setAside: ReadonlySet<Outcome> = new Set(['parked', 'dead-lettered', 'quarantined'])
const again: ReadonlySet<Outcome> = new Set(['retry', 'deferred', 'rerouted'])

/** The counts of a batch, for the tally. */
export interface Counted {
  readonly outcomes: ReadonlyMap<string, number>
  readonly conflicts: number
}

/**
 * Counts the decisions of a batch after its commit. A message that was simply applied costs one comparison.
 */
export function decisionCounter<M, Tx>(
  consumer: Consumer<M, Tx>,
  metrics: Metrics,
  isReplay: boolean,
): (decided: readonly Decided<M>[]) => Counted {
  const typeOf = typeReader(consumer)
  const codes = new Set(consumer.effect?.apply?.codes ?? [])
  return decided => {
    const counts = new Counts(consumer.name)
    let conflicts = 0
    let applied = 0
    for (const { received, decision } of decided) {
      const { outcome, code } = decision
      const simply = outcome === 'applied' && code === ''
      if (simply && typeOf === null) applied++
      else counts.outcome(outcome, typeOf?.(received), 1)
      if (simply) continue
      if (code === 'conflict') conflicts++
      if (code !== '' && codes.has(code)) counts.add('results', { code })
      explain(received, decision, counts)
    }
    if (applied > 0) counts.outcome('applied', undefined, applied)
    const outcomes = counts.report(metrics)
    if (conflicts > 0) metrics.add('conflicts', conflicts, { consumer: consumer.name })
    if (isReplay && decided.length > 0) metrics.add('replayed', decided.length, { consumer: consumer.name })
    return { outcomes, conflicts }
  }
}

function explain(received: Received, decision: Decision, counts: Counts): void {
  const { outcome, failureClass, code, error, exhausted } = decision
  const skipped = skipReason(decision)
  if (skipped !== null) counts.add('skips', { reason: skipped })
  if (error !== null) counts.add('failures', { class: failureClass })
  if (again.has(outcome) && (error !== null || failureClass === 'verdict'))
    counts.add('retries', { class: failureClass })
  if (code === 'behind_horizon') counts.add('behindHorizon', {})
  if (!setAside.has(outcome)) return
  counts.add('setAside', { outcome, class: failureClass })
  if (exhausted !== null) counts.add('exhausted', { class: exhausted })
  const problem = received.readable ? null : received.problem.kind
  const unreadable = problem !== null && code === problem.replaceAll(' ', '_')
  if (unreadable) counts.add('unreadable', { reason: problem })
  if (failureClass === 'poison')
    counts.add('poison', {
      reason: unreadable ? problem : (poisonReasons[code] ?? 'fails alike'),
    })
}

const poisonReasons: Readonly<Record<string, string>> = {
  [processDied]: 'process died',
  [redeliveredCode]: 'delivered too often',
}

/** Why an effect was not repeated; null if nothing was skipped. */
function skipReason({ outcome, status, code, failureClass }: Decision): string | null {
  if (outcome === 'already held') return 'held'
  if (outcome === 'stale') return 'version'
  if (outcome === 'ignored' && failureClass !== '') return failureClass
  if (outcome !== 'duplicate') return null
  return status === null ? 'marker' : code === '' ? 'business key' : 'effect'
}

/**
 * A type that the contract lists, or `other`; null if the contract lists none. Other values of a message must
 * not become metric labels.
 */
function typeReader<M, Tx>(consumer: Consumer<M, Tx>): ((received: Received<M>) => string) | null {
  const { types } = consumer.message
  if (types === undefined) return null
  const known = new Set<unknown>(types)
  const read = readerFor((consumer.identity.type ?? { property: 'type' }) as From<M, unknown>)
  return received => {
    if (!received.readable) return 'other'
    try {
      const type = read(received.message, received.delivery)
      return known.has(type) ? (type as string) : 'other'
    } catch {
      return 'other'
    }
  }
}

type Count = { readonly metric: CounterKey; readonly labels: Record<string, string>; count: number }

class Counts {
  readonly #consumer: string
  readonly #outcomes = new Map<string, Map<string | undefined, number>>()
  readonly #counts = new Map<string, Count>()

  constructor(consumer: string) {
    this.#consumer = consumer
  }

  outcome(outcome: Outcome, type: string | undefined, count: number): void {
    const byType = this.#outcomes.get(outcome) ?? new Map<string | undefined, number>()
    this.#outcomes.set(outcome, byType)
    byType.set(type, (byType.get(type) ?? 0) + count)
  }

  add<K extends CounterKey>(metric: K, labels: Omit<Labels<K>, 'consumer'>): void {
    const key = [metric, ...Object.values(labels)].join('\0')
    const count = this.#counts.get(key)
    if (count !== undefined) count.count++
    else
      this.#counts.set(key, {
        metric,
        labels: { ...(labels as object), consumer: this.#consumer },
        count: 1,
      })
  }

  report(metrics: Metrics): ReadonlyMap<string, number> {
    const consumer = this.#consumer
    const outcomes = new Map<string, number>()
    for (const [outcome, byType] of this.#outcomes) {
      let sum = 0
      for (const [type, count] of byType) {
        sum += count
        metrics.add('outcomes', count, { consumer, outcome, ...(type !== undefined && { type }) })
      }
      outcomes.set(outcome, sum)
      if (outcome === 'applied') metrics.add('applied', sum, { consumer })
      if (outcome === 'duplicate' || outcome === 'already held') metrics.add('duplicates', sum, { consumer })
    }
    for (const { metric, labels, count } of this.#counts.values()) metrics.add(metric, count, labels as never)
    return outcomes
  }
}
