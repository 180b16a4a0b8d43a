import type { Stall } from '../../ports/source.ts'

/** Silent components and for how long. */
export interface Silences {
  /** Since the group last confirmed this member. */
  readonly groupMs: number
  readonly heartbeatMs: number
  /** By partition: for how long its leader has not answered. */
  readonly owed: readonly { readonly name: string; readonly forMs: number }[]
  /** By partition: for how long it has had records without progress. */
  readonly standing: readonly { readonly name: string; readonly forMs: number }[]
  /** By partition: for how long it has been assigned and not read. */
  readonly unread: readonly Unread[]
}

interface Unread {
  readonly name: string
  readonly forMs: number
  /** Its position is being determined. */
  readonly isTaking: boolean
}

/** Allowed time for a fetch, which waits half a second for new records. */
const answerMs = 2_000

/**
 * Allowed time to take a partition: a log that seems truncated is checked for ten seconds, and a database may
 * be slow.
 */
const takeMs = 15_000

/** The longest silence beyond its allowed time; null when there is none. */
export function findStall({ groupMs, heartbeatMs, owed, standing, unread }: Silences): Stall | null {
  const found: Stall[] = []
  const late = owed.filter(({ forMs }) => forMs > answerMs)
  const left = unread.filter(({ forMs, isTaking }) => forMs > (isTaking ? takeMs : answerMs))
  if (groupMs > 2 * heartbeatMs + answerMs)
    found.push({ forMs: groupMs, reason: 'the group does not confirm this process as its member' })
  if (late.length > 0)
    found.push({ forMs: longest(late), reason: `no answer from the leader of ${namesOf(late)}` })
  if (standing.length > 0)
    found.push({
      forMs: longest(standing),
      reason: `${namesOf(standing)} has records to read and makes no progress`,
    })
  if (left.length > 0)
    found.push({ forMs: longest(left), reason: `${namesOf(left)} is assigned but not read yet` })
  return found.length === 0 ? null : found.reduce((a, b) => (b.forMs > a.forMs ? b : a))
}

const longest = (some: Silences['owed']) => Math.max(...some.map(({ forMs }) => forMs))

function namesOf(some: Silences['owed']): string {
  const names = some.slice(0, 3).map(({ name }) => name)
  return some.length > 3 ? `${names.join(', ')} and ${some.length - 3} more` : names.join(', ')
}
