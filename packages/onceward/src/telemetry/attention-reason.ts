import type { FailureRules } from '../contract/failure-rules.ts'
import { exhaustedVerdict } from '../engine/batch/outcome.ts'
import type { ProblemKind } from '../message/received.ts'
import { processDied } from '../ports/suspects.ts'

/** Why a message waits for a person. Each alert covers one reason, so that one message raises one alert. */
export const attentionReasons = [
  'unreadable',
  'conflict',
  'poison',
  'exhausted',
  'corrupt',
  'quarantined',
  'set aside',
] as const
/** Why a message waits for a person. */
export type AttentionReason = (typeof attentionReasons)[number]

/** The row of a message that waits for a person. */
export interface SetAside {
  readonly state: string
  readonly class: string
  readonly code: string
}

const problems: Readonly<Record<Exclude<ProblemKind, 'process died' | 'registry unavailable'>, true>> = {
  'over limit': true,
  undecodable: true,
  'inexact number': true,
  tombstone: true,
  invalid: true,
  unvalidated: true,
  'id missing': true,
  'id malformed': true,
  'business key missing': true,
  'business key malformed': true,
  'order key missing': true,
  'order key malformed': true,
  'unknown type': true,
  'unsupported version': true,
  'unknown schema': true,
}
const unreadableCodes = new Set(Object.keys(problems).map(kind => kind.replaceAll(' ', '_')))

/**
 * Pure. Null for a message that is only parked behind another: the decision about the first one covers it. A
 * handler’s `park` and `reject` are `set aside`; its `retryAfter` without attempts left, and a class that the
 * contract retries, are `exhausted`.
 */
export function attentionReason(
  { state, class: failureClass, code }: SetAside,
  { rules }: Pick<FailureRules, 'rules'>,
): AttentionReason | null {
  if (code === 'behind_parked' || code === 'behind_business_key') return null
  if (code === 'conflict') return 'conflict'
  const readingFailed = failureClass === 'poison' || failureClass === 'validation'
  if (readingFailed && code !== processDied && unreadableCodes.has(code)) return 'unreadable'
  if (failureClass === 'poison') return 'poison'
  if (state === 'quarantined') return failureClass === 'corruption' ? 'corrupt' : 'quarantined'
  const of = (rules as Readonly<Record<string, { readonly retried: boolean }>>)[failureClass]
  if (failureClass === exhaustedVerdict) return 'exhausted'
  return failureClass !== 'verdict' && of?.retried === true ? 'exhausted' : 'set aside'
}
