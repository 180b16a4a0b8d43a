import { isTransform } from '../../contract/define-transform.ts'
import type { FailureClass } from '../../contract/failure-section.ts'
import { leaderState } from '../../engine/batch/decide-in-order.ts'
import { type AttemptFacts, decideOutcome, noAttempts } from '../../engine/batch/decide-outcome.ts'
import type { Decision, Fact, Outcome } from '../../engine/batch/outcome.ts'
import { ignore, park, reject, type Verdict } from '../../engine/batch/verdicts.ts'
import { decideTransform } from '../../engine/transform/decide-transform.ts'
import type { Consumer } from '../../index.ts'
import type { ProblemKind } from '../../message/received.ts'

/** What this consumer does with a message in one situation. */
export interface Behaviour {
  readonly situation: Situation
  readonly when: string
  readonly outcome: Outcome
  /** The number of the last attempt; null if attempts are not counted or have no end. */
  readonly attempts: number | null
  /**
   * Later messages of its key or partition; null where order is not kept, or where the message has no such
   * place.
   */
  readonly later: 'wait' | 'continue' | null
}

export type Situation = keyof typeof situations

type Relevant = Pick<Consumer, 'dedup' | 'identity' | 'failure' | 'message' | 'order' | 'source'>

interface SituationSpec {
  readonly when: string
  /** Null: it cannot happen to this consumer, or the effect itself decides. */
  readonly fact: (consumer: Relevant) => Fact | null
}

const applied: Fact = { kind: 'handled' }
const byMarker = ({ dedup }: Relevant) => dedup === 'marker'
const unreadable = (kind: ProblemKind): Fact => ({ kind: 'unreadable', problem: { kind, text: kind } })
const verdict = (said: Verdict): Fact => ({ kind: 'verdict', verdict: said })
const failing = (failureClass: FailureClass | 'unclassified'): SituationSpec => ({
  when: `the handler always fails, class ${failureClass}`,
  fact: () => ({ kind: 'failed', failure: { class: failureClass, code: 'E', error: 'E', place: '' } }),
})

/**
 * A repeated message: recognised by its marker, by the effect's version, or not at all (a log position
 * identifies only the record).
 */
function repeated(consumer: Relevant, sameDigest: boolean): Fact | null {
  if (consumer.dedup === 'version' || (consumer.identity.id === 'content' && !sameDigest)) return null
  return byMarker(consumer) && consumer.identity.id !== 'position'
    ? { kind: 'seen', status: 'applied', sameDigest }
    : applied
}

/** Without `businessDigest` no content is stored with the key, so any content counts as the same. */
function repeatedKey(consumer: Relevant, sameContent: boolean): Fact | null {
  if (!byMarker(consumer) || consumer.identity.businessKey === undefined) return null
  const sameDigest = sameContent || consumer.identity.businessDigest === undefined
  return { kind: 'business seen', byId: 'another', sameDigest }
}

/** Every situation on the page. The tests run a consumer through each of them. */
export const situations = {
  again: { when: 'the same id again, same content', fact: consumer => repeated(consumer, true) },
  altered: { when: 'the same id again, other content', fact: consumer => repeated(consumer, false) },
  keyAgain: {
    when: 'the same business key under another id, same content',
    fact: consumer => repeatedKey(consumer, true),
  },
  keyAltered: {
    when: 'the same business key under another id, other content',
    fact: consumer => repeatedKey(consumer, false),
  },
  keyHeld: {
    when: 'the same business key under another id, while the first message is parked',
    fact: consumer =>
      repeatedKey(consumer, true) && {
        kind: 'key held',
        byId: 'another',
        as: 'parked',
        delayMs: 0,
        inTurn: consumer.order === 'key',
      },
  },
  undecodable: { when: 'bytes that cannot be decoded', fact: () => unreadable('undecodable') },
  tombstone: {
    when: 'a record without a body (a tombstone)',
    fact: ({ message, source }) => {
      if (source.kind !== 'kafka') return null
      return message.tombstones === 'handle' ? applied : unreadable('tombstone')
    },
  },
  invalid: {
    when: 'a message the schema refuses',
    fact: ({ message }) => (message.schema === undefined ? null : unreadable('invalid')),
  },
  unknownType: {
    when: 'a type the contract does not list',
    fact: ({ message }) => (message.types === undefined ? null : unreadable('unknown type')),
  },
  unsupportedVersion: {
    when: 'a schema version the contract does not list',
    fact: ({ message }) => (message.versions === undefined ? null : unreadable('unsupported version')),
  },
  idMissing: {
    when: 'a message without an id',
    fact: ({ identity }) => (typeof identity.id === 'string' ? null : unreadable('id missing')),
  },
  ignored: { when: 'the handler returns ignore', fact: () => verdict(ignore('')) },
  parked: { when: 'the handler returns park', fact: () => verdict(park('')) },
  rejected: { when: 'the handler returns reject', fact: () => verdict(reject('')) },
  transient: failing('transient'),
  overload: failing('overload'),
  rateLimited: failing('rate limited'),
  businessConflict: failing('business conflict'),
  validation: failing('validation'),
  poison: failing('poison'),
  configuration: failing('configuration'),
  corruption: failing('corruption'),
  unclassified: failing('unclassified'),
} as const satisfies Record<string, SituationSpec>

/** More attempts than this count as endless. */
const attemptsLookedAt = 10_000
const unfinished: ReadonlySet<Outcome> = new Set(['retry', 'deferred', 'rerouted'])

/** Pure. Uses the same functions as a running consumer. */
export function behaviourOf(consumer: Relevant): readonly Behaviour[] {
  return Object.entries(situations).flatMap(([situation, { when, fact }]) => {
    const found = (fact as SituationSpec['fact'])(consumer)
    if (found === null) return []
    const { decision, attempts } = decidedInTheEnd(found, consumer)
    const { outcome } = decision
    const later = laterMessages(found, decision, consumer)
    return [{ situation: situation as Situation, when, outcome, attempts, later }]
  })
}

function laterMessages(fact: Fact, decision: Decision, { order }: Relevant): Behaviour['later'] {
  if (order === 'none' || (fact.kind !== 'failed' && fact.kind !== 'verdict')) return null
  if (decision.outcome === 'halted') return 'wait'
  return leaderState(decision, order) === 'gone' ? 'continue' : 'wait'
}

function decidedInTheEnd(
  fact: Fact,
  consumer: Relevant,
): { readonly decision: Decision; readonly attempts: number | null } {
  const { failure } = consumer
  const decide = isTransform(consumer) ? decideTransform : decideOutcome
  if (fact.kind !== 'failed') return { decision: decide(fact, noAttempts, failure), attempts: null }
  const after = (total: number): AttemptFacts => ({
    ...noAttempts,
    total,
    byClass: { [fact.failure.class]: total },
    same: total,
  })
  let decision = decide(fact, after(1), failure)
  for (let total = 1; total <= attemptsLookedAt; total++) {
    decision = decide(fact, after(total), failure)
    if (!unfinished.has(decision.outcome)) return { decision, attempts: total }
  }
  return { decision, attempts: null }
}

const words: Partial<Record<Outcome, string>> = {
  applied: 'applied as a new message',
  duplicate: 'skipped as a duplicate',
  ignored: 'marked as ignored, no effect',
  parked: 'parked until a person decides',
  'dead-lettered': 'dead-lettered',
  quarantined: 'quarantined until a person decides',
  halted: 'the consumer halts and acknowledges nothing',
}

/** The text on the page. */
export function behaviourText({ situation, outcome, attempts }: Behaviour): string {
  if (situation === 'keyHeld')
    return 'parked behind it: becomes a duplicate when the first is applied, and is applied when the first ends without an effect'
  if (unfinished.has(outcome)) return 'retried without end; its lane waits'
  const end = words[outcome] ?? outcome
  if (attempts === null) return end
  return `${attempts === 1 ? '1 attempt' : `${attempts} attempts`}, then ${outcome === 'halted' ? end : `it is ${end}`}`
}
