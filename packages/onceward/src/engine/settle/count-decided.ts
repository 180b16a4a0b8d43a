import type { Consumer } from '../../contract/define-consumer.ts'
import { isTransform } from '../../contract/define-transform.ts'
import type { ProblemKind, Received } from '../../message/received.ts'
import { messagingSystem } from '../../ports/messaging-system.ts'
import { processDied } from '../../ports/suspects.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Decided } from '../batch/batch-attempt.ts'
import { type Decision, type Outcome, redeliveredCode } from '../batch/outcome.ts'
import { eventTypeReader } from './event-type.ts'
import { type MessageGroup, MessageGroups } from './message-counts.ts'

const setAside: ReadonlySet<Outcome> = new Set(['parked', 'dead-lettered', 'quarantined'])
const again: ReadonlySet<Outcome> = new Set(['retry', 'deferred', 'rerouted'])

/** The counts of a batch, for the tally. */
export interface Counted {
  readonly outcomes: ReadonlyMap<string, number>
  readonly conflicts: number
}

/** `seconds` is the time from the start of the batch to its commit; `stage` is the part of the work. */
export interface BatchTime {
  readonly seconds: number
  readonly stage: string
}

/**
 * Counts the decisions of a batch after its commit. A message that was simply applied costs a few
 * comparisons: every metric is written once for all messages with the same labels.
 */
export function decisionCounter<M, Tx>(
  consumer: Consumer<M, Tx>,
  metrics: Metrics,
  isReplay: boolean,
  isBehindHorizon: (received: Received) => boolean = () => false,
): (decided: readonly Decided<M>[], time: BatchTime) => Counted {
  const { name } = consumer
  const typeOf = eventTypeReader(consumer)
  const codes = new Set(consumer.effect?.apply?.codes ?? [])
  const system = messagingSystem(consumer.source.kind)
  const callsEach = consumer.handle !== undefined || isTransform(consumer)
  return (decided, { seconds, stage }) => {
    const groups = new MessageGroups<M>(name, typeOf)
    const outcomes = new Map<string, number>()
    const ownTime = callsEach && stage !== 'enqueue'
    let conflicts = 0
    let group: MessageGroup | null = null
    let applied = 0
    const flush = () => {
      if (applied === 0) return
      group!.add('outcomes', { outcome: 'applied' }, applied)
      outcomes.set('applied', (outcomes.get('applied') ?? 0) + applied)
      applied = 0
    }
    for (const one of decided) {
      const { received, decision } = one
      const { outcome, code } = decision
      const its = groups.of(received)
      if (its !== group) flush()
      group = its
      if (ownTime) its.seconds.push(handlerSeconds(received))
      if (outcome === 'applied' && isBehindHorizon(received)) its.add('behindHorizon', {})
      if (outcome === 'applied' && code === '') {
        applied++
        continue
      }
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      its.add('outcomes', { outcome: shownOutcome(received, decision) })
      if (code === 'conflict') conflicts++
      if (code !== '' && codes.has(code)) its.add('results', { code })
      explain(one, its)
    }
    flush()
    for (const one of groups) {
      one.report(metrics)
      const labels = { ...one.labels, stage, 'messaging.system': system }
      const times = ownTime ? one.seconds : Array<number>(one.size).fill(seconds)
      metrics.recordEach('processDuration', times, labels)
    }
    const first = outcomes.get('applied') ?? 0
    if (first > 0) metrics.add('applied', first, { consumer: name })
    if (conflicts > 0) metrics.add('conflicts', conflicts, { consumer: name })
    if (isReplay && decided.length > 0) metrics.add('replayed', decided.length, { consumer: name })
    return { outcomes, conflicts }
  }
}

/** Zero if its handler did not run, as for a duplicate. */
function handlerSeconds(received: Received): number {
  return received.readable ? (received.handlerMs ?? 0) / 1_000 : 0
}

function explain({ received, decision, copied }: Decided, group: MessageGroup): void {
  const { outcome, failureClass, code, error, exhausted } = decision
  const skipped = skipReason(decision)
  if (outcome === 'duplicate' || outcome === 'already held') group.add('duplicates', {})
  if (skipped !== null) group.add('skips', { reason: skipped })
  if (error !== null) group.add('failures', { class: failureClass })
  if (again.has(outcome) && (error !== null || failureClass === 'verdict'))
    group.add('retries', { class: failureClass, reason: code })
  if (code === 'behind_horizon') group.add('behindHorizon', {})
  if (!setAside.has(outcome)) return
  group.add('setAside', { outcome, class: failureClass, reason: code })
  if (copied) group.add('deadLetters', { outcome, class: failureClass, reason: code })
  if (exhausted !== null) group.add('exhausted', { class: exhausted })
  const problem = unreadableKind(received, decision)
  if (problem !== null) group.add('unreadable', { reason: problem })
  if (failureClass === 'poison')
    group.add('poison', { reason: problem ?? poisonReasons[code] ?? 'fails alike' })
}

/** The problem for which the message was set aside; null if it was set aside for another reason. */
function unreadableKind(received: Received, { code }: Decision): ProblemKind | null {
  if (received.readable) return null
  const { kind } = received.problem
  return code === kind.replaceAll(' ', '_') ? kind : null
}

/** Unreadable messages by what is wrong with them. A message without a usable identity is `quarantined`. */
const unreadableOutcomes: Partial<Record<ProblemKind, string>> = {
  'over limit': 'deserialization_failure',
  undecodable: 'deserialization_failure',
  'inexact number': 'deserialization_failure',
  tombstone: 'deserialization_failure',
  invalid: 'schema_incompatible',
  unvalidated: 'schema_incompatible',
  'unknown type': 'schema_incompatible',
  'unsupported version': 'schema_incompatible',
}

/** The outcome as the metric has it: what is wrong with the bytes says more than where they are kept. */
function shownOutcome(received: Received, decision: Decision): string {
  if (!setAside.has(decision.outcome)) return decision.outcome
  const kind = unreadableKind(received, decision)
  return (kind === null ? undefined : unreadableOutcomes[kind]) ?? decision.outcome
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
