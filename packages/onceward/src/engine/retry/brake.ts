import type { Outcome } from '../batch/outcome.ts'

/** How many messages of an event type must fail for one cause before the type is paused, and for how long. */
export interface BrakeRules {
  /** Messages that failed for the cause, under at least two keys. */
  readonly messagesMin: number
  /** Their share of the recent messages of the type, from 0 to 1. */
  readonly shareMin: number
  /** The pause before a probe; it doubles up to `pauseMaxMs`. */
  readonly pauseMs: number
  readonly pauseMaxMs: number
}

/** The end of a message: it was applied (`cause` is null), or it failed for a cause and is not retried. */
export interface LatestEnd {
  readonly key: string
  readonly cause: string | null
}

const keysMin = 2

/**
 * Pure. The cause for which an unusual share of the recent messages of one event type failed, or null. One
 * key is one producer or one entity: its messages are not a sign of a bad deployment.
 */
export function findMassFailure(
  recent: Iterable<LatestEnd>,
  { messagesMin, shareMin }: Pick<BrakeRules, 'messagesMin' | 'shareMin'>,
  isKnown: (cause: string) => boolean = () => false,
): string | null {
  const causes = new Map<string, { messages: number; readonly keys: Set<string> }>()
  let ends = 0
  for (const { key, cause } of recent) {
    ends++
    if (cause === null) continue
    const found = causes.get(cause) ?? { messages: 0, keys: new Set<string>() }
    causes.set(cause, found)
    found.messages++
    found.keys.add(key)
  }
  for (const [cause, { messages, keys }] of causes) {
    const many = messages >= messagesMin && messages >= shareMin * ends
    if (many && keys.size >= keysMin && !isKnown(cause)) return cause
  }
  return null
}

/** How many ends of a type are recent: enough for the share to mean something. */
export function recentMax({ messagesMin, shareMin }: BrakeRules): number {
  return Math.max(100, Math.ceil((2 * messagesMin) / shareMin))
}

/** The outcomes that end a failed message. A failure that is retried says nothing about the handler. */
export const finalOutcomes: ReadonlySet<Outcome> = new Set(['parked', 'dead-lettered', 'quarantined'])

/** As operators and alerts name it. */
export function causeText(code: string, place: string): string {
  return place === '' ? code : `${code} at ${place}`
}
