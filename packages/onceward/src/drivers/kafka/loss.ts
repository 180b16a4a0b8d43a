import { OncewardError } from '../../errors.ts'
import type { LogOptions, Loss, Ownership, Position } from '../../ports/source.ts'
import type { Bounds, CommittedOffset, OutOfRange } from './client/kafka-client.ts'

/** All that is known about a partition at the moment it becomes ours. */
export interface PartitionStanding {
  readonly progress: LogOptions['progress']
  readonly ownership: Pick<Ownership, 'partition' | 'stored' | 'resumeAt'>
  /** Id of the topic as it is now. */
  readonly incarnation: string
  /** What the group has on the broker; null for nothing. */
  readonly committed: CommittedOffset | null
  readonly bounds: Bounds
  /** Where one that was never here begins; null when nobody has said so. */
  readonly start: number | null
}

export type PartitionResume =
  /** `isNew`: the broker is told, then the store, before a record is handed over. */
  | {
      readonly kind: 'read'
      readonly offset: number
      readonly leaderEpoch: number
      readonly isNew: boolean
    }
  | { readonly kind: 'lost'; readonly loss: Loss }
  /** It never began and nobody has said where to. */
  | { readonly kind: 'unstarted' }

/**
 * Where to read on. Nothing is ever reset: a position that does not fit the log is a loss, and a person
 * decides.
 */
export function decidePosition(standing: PartitionStanding): PartitionResume {
  const { ownership, incarnation, committed, start, progress } = standing
  const { stored, resumeAt } = ownership
  if (resumeAt !== null) return within(standing, resumeAt, -1, true)
  if (stored === null) {
    if (committed !== null)
      return within(standing, { incarnation, next: String(committed.offset) }, committed.leaderEpoch, true)
    return start === null
      ? { kind: 'unstarted' }
      : { kind: 'read', offset: start, leaderEpoch: -1, isNew: true }
  }
  if (progress === 'store' || progress === 'only') {
    const epoch = committed !== null && String(committed.offset) === stored.next ? committed.leaderEpoch : -1
    return within(standing, stored, epoch, false)
  }
  if (stored.incarnation !== incarnation) return within(standing, stored, -1, false)
  if (committed === null) {
    // Nothing was written since: whatever the broker forgot, there is nothing to miss.
    if (Number(stored.next) === standing.bounds.end) return within(standing, stored, -1, true)
    return { kind: 'lost', loss: forgotten(standing, stored) }
  }
  return within(standing, { incarnation, next: String(committed.offset) }, committed.leaderEpoch, false)
}

function within(
  standing: PartitionStanding,
  at: Position,
  leaderEpoch: number,
  isNew: boolean,
): PartitionResume {
  const { incarnation, bounds, ownership, progress } = standing
  const { partition } = ownership
  if (at.incarnation !== incarnation)
    return { kind: 'lost', loss: madeAgain(partition, at, incarnation, bounds) }
  const offset = Number(at.next)
  const loss = outOfRange(partition, at, { kind: 'bounds', bounds }, progress)
  return loss === null ? { kind: 'read', offset, leaderEpoch, isNew } : { kind: 'lost', loss }
}

/** What a position has lost in a log as it is found; null when nothing. */
export function outOfRange(
  partition: string,
  from: Position,
  found: OutOfRange,
  progress: LogOptions['progress'],
): Loss | null {
  const { incarnation } = from
  const at = Number(from.next)
  const upTo = (offset: number): Position => ({ incarnation, next: String(offset) })
  const { start, end } = found.bounds
  const readsAgain = progress === 'broker' || progress === 'store'
  if (found.kind === 'truncated') {
    const where = found.at === null ? 'somewhere before our position' : `to ${found.at}`
    const reason = `the log was cut back ${where} (leader epoch ${found.leaderEpoch}) and written anew: records read before are no longer in it, and others stand in their place`
    const parts = found.at ?? (readsAgain ? start : at)
    return { partition, from, to: upTo(Math.min(parts, at)), records: null, reason }
  }
  if (at < start) {
    const reason = `the log begins at ${start} now: older records were deleted before they were settled`
    return { partition, from, to: upTo(start), records: start - at, reason }
  }
  if (at <= end) return null
  const again = readsAgain ? start : end
  const reason = `the log ends at ${end}, before our position: it was cut back or restored from an older copy. What stands there now may never have been read; ${again === end ? 'going on at its end may skip records' : 'going on at its start reads everything again, and what has a marker is recognised'}`
  return { partition, from, to: upTo(again), records: null, reason }
}

/** A topic that was deleted and made again under its name. */
export function madeAgain(partition: string, from: Position, incarnation: string, bounds: Bounds): Loss {
  const reason = `the topic was deleted and made again (it was ${from.incarnation}, it is ${incarnation}): whatever was left of the old one is gone`
  return { partition, from, to: { incarnation, next: String(bounds.start) }, records: null, reason }
}

/** A batch nobody can read. */
export function unreadable(
  partition: string,
  from: Position,
  at: number,
  next: number | null,
  problem: string,
): Loss {
  const to = next === null ? null : { incarnation: from.incarnation, next: String(next) }
  const reason = `the log has ${problem} at ${at}, and the broker gave the same bytes every time`
  return { partition, from, to, records: next === null ? null : next - at, reason }
}

function forgotten({ ownership, bounds, incarnation }: PartitionStanding, stored: Position): Loss {
  const next = Math.max(bounds.start, Math.min(Number(stored.next), bounds.end))
  const reason = `the broker has no position of this group any more: its offsets expired in an empty group (offsets.retention.minutes), were deleted, or stand under the name it had before its consumer was renamed (then name that group in the contract). We last knew ${stored.next} for certain; going on at ${next} hands records over again, and what has a marker is recognised`
  const records = Math.max(0, bounds.start - Number(stored.next))
  return {
    partition: ownership.partition,
    from: stored,
    to: { incarnation, next: String(next) },
    records: records === 0 ? null : records,
    reason,
  }
}

/** For people, after the losses are on record. */
export function lossError(losses: readonly Loss[]): OncewardError {
  const told = losses.map(({ partition, from, to, records, reason }) => {
    const many = records === null ? 'How many records is unknown' : `At most ${records} records are gone`
    const on = to === null ? 'There is nothing to go on from' : `Accepted, reading goes on at ${to.next}`
    return `${partition}@${from.next}: ${reason}. ${many}. ${on}.`
  })
  return new OncewardError(
    'records_lost',
    `${told.join(' ')} Nothing was settled or committed. Restore the log, or accept the loss, then start again.`,
    { details: { losses } },
  )
}
