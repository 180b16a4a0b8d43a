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

/** The latest try of a message: it passed, or failed for a cause. */
export interface LatestTry {
  readonly key: string
  readonly cause: string | null
}

const keysMin = 2

/**
 * Pure. The cause for which an unusual share of the recent messages of one event type failed, or null. One
 * key is one producer or one entity: its messages are not a sign of a bad deployment.
 */
export function findMassFailure(
  recent: Iterable<LatestTry>,
  { messagesMin, shareMin }: Pick<BrakeRules, 'messagesMin' | 'shareMin'>,
  isKnown: (cause: string) => boolean = () => false,
): string | null {
  const causes = new Map<string, { messages: number; readonly keys: Set<string> }>()
  let tries = 0
  for (const { key, cause } of recent) {
    tries++
    if (cause === null) continue
    const found = causes.get(cause) ?? { messages: 0, keys: new Set<string>() }
    causes.set(cause, found)
    found.messages++
    found.keys.add(key)
  }
  for (const [cause, { messages, keys }] of causes) {
    const many = messages >= messagesMin && messages >= shareMin * tries
    if (many && keys.size >= keysMin && !isKnown(cause)) return cause
  }
  return null
}

/** How many tries of a type are recent: enough for the share to mean something. */
export function recentMax({ messagesMin, shareMin }: BrakeRules): number {
  return Math.max(100, Math.ceil((2 * messagesMin) / shareMin))
}
