import { OncewardError } from '../../errors.ts'
import type { LogOptions, Loss, Ownership, Position } from '../../ports/source.ts'
import type { Bounds, CommittedOffset, OutOfRange } from './client/kafka-client.ts'

const writtenAnew = 'and rewritten'

/** Everything known about a partition when this member is assigned to it. */
export interface PartitionStanding {
  readonly progress: LogOptions['progress']
  readonly ownership: Pick<Ownership, 'partition' | 'stored' | 'resumeAt'>
  /** Id of the current topic. */
  readonly incarnation: string
  /** The group's committed offset on the broker; null when there is none. */
  readonly committed: CommittedOffset | null
  readonly bounds: Bounds
  /** Where a group without a position begins; null when the contract does not say. */
  readonly start: number | null
}

export type PartitionResume =
  /** `isNew`: the position is committed to the broker, then stored, before the first record is delivered. */
  | {
      readonly kind: 'read'
      readonly offset: number
      readonly leaderEpoch: number
      readonly isNew: boolean
    }
  | { readonly kind: 'lost'; readonly loss: Loss }
  /** The group has no position and the contract names no start. */
  | { readonly kind: 'unstarted' }

/**
 * Decides where to resume. No position is ever reset: a position outside the log is a loss, and an operator
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
    // No record was written since. The broker forgot the offset, but no record can be missed.
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
    return { kind: 'lost', loss: recreated(partition, at, incarnation, bounds) }
  const offset = Number(at.next)
  const loss = outOfRange(partition, at, { kind: 'bounds', bounds }, progress)
  return loss === null ? { kind: 'read', offset, leaderEpoch, isNew } : { kind: 'lost', loss }
}

/** The loss of a position relative to the log's present bounds; null when there is none. */
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
    const reason = `the log was truncated ${where} (leader epoch ${found.leaderEpoch}) ${writtenAnew}: records read earlier are no longer in it, and others took their place`
    const parts = found.at ?? (readsAgain ? start : at)
    return { partition, from, to: upTo(Math.min(parts, at)), records: null, reason }
  }
  if (at < start) {
    const reason = `the log now begins at ${start}: older records were deleted before they were settled`
    return { partition, from, to: upTo(start), records: start - at, reason }
  }
  if (at <= end) return null
  const again = readsAgain ? start : end
  const reason = `the log ends at ${end}, before our position: it was truncated or restored from an older copy. Its current records may never have been read; ${again === end ? 'resuming at its end may skip records' : 'resuming at its start reads everything again, and records with a marker are recognised'}`
  return { partition, from, to: upTo(again), records: null, reason }
}

/**
 * True for a loss whose log had other records at the position, not too few: their age says nothing about it.
 */
export function isWrittenAnew({ reason }: Pick<Loss, 'reason'>): boolean {
  return reason.includes(writtenAnew)
}

/** A topic that was deleted and created again under the same name. */
export function recreated(partition: string, from: Position, incarnation: string, bounds: Bounds): Loss {
  const reason = `the topic was deleted and created again (id ${from.incarnation} before, ${incarnation} now): the unread records of the old topic are gone`
  return { partition, from, to: { incarnation, next: String(bounds.start) }, records: null, reason }
}

/** A batch that cannot be decoded. */
export function unreadable(
  partition: string,
  from: Position,
  at: number,
  next: number | null,
  problem: string,
): Loss {
  const to = next === null ? null : { incarnation: from.incarnation, next: String(next) }
  const reason = `the log has ${problem} at ${at}, and the broker returned the same bytes every time`
  return { partition, from, to, records: next === null ? null : next - at, reason }
}

function forgotten({ ownership, bounds, incarnation }: PartitionStanding, stored: Position): Loss {
  const next = Math.max(bounds.start, Math.min(Number(stored.next), bounds.end))
  const reason = `the broker no longer has a position of this group: its offsets expired in an empty group (offsets.retention.minutes), were deleted, or belong to the group's name before the consumer was renamed (then name that group in the contract). The last known position is ${stored.next}; resuming at ${next} delivers records again, and those with a marker are recognised`
  const records = Math.max(0, bounds.start - Number(stored.next))
  return {
    partition: ownership.partition,
    from: stored,
    to: { incarnation, next: String(next) },
    records: records === 0 ? null : records,
    reason,
  }
}

/** The error shown to people after the losses are recorded. */
export function lossError(losses: readonly Loss[]): OncewardError {
  const sentences = losses.map(({ partition, from, to, records, reason }) => {
    const many =
      records === null ? 'The number of lost records is unknown' : `At most ${records} records are lost`
    const on =
      to === null
        ? 'There is no position to resume from'
        : `If you accept the loss, reading resumes at ${to.next}`
    return `${partition}@${from.next}: ${reason}. ${many}. ${on}.`
  })
  return new OncewardError(
    'records_lost',
    `${sentences.join(' ')} Nothing was settled or committed. Restore the log, or accept the loss, then start again.`,
    { details: { losses } },
  )
}
