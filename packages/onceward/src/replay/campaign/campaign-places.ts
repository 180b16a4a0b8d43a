import {
  moveCampaignPartitions,
  type PlaceRange,
} from '../../drivers/postgres/campaign/campaign-partitions.ts'
import { OncewardError } from '../../errors.ts'
import type { DecidedMessage } from '../../ports/campaign-session.ts'
import type { Progress } from '../../ports/source.ts'
import type { MovePlace } from './campaign-journal.ts'

export interface MoveOptions {
  readonly campaignId: string
  readonly runId: number
  readonly progress: readonly Progress[]
}

/** A partition before the batch. Every place below `next` is counted, and so are those in `ahead`. */
interface Stood {
  readonly next: string
  readonly ahead: readonly PlaceRange[]
}

/**
 * Rejects with `ownership_lost` when another process has taken a partition. A message is counted together
 * with its place, so once. When it is read again, after a crash or after the answer to a commit was lost, its
 * place is already counted. (Skipping such places while reading would not cover lost answers.)
 */
export function movePlaces({ campaignId, runId, progress }: MoveOptions): MovePlace {
  return async (tx, decided) => {
    const options = { campaignId, runId }
    const moved = await moveCampaignPartitions(tx, options, progress, aheadOf(progress, decided))
    assertMoved(campaignId, progress, new Set(moved.map(({ partition }) => partition)))
    const stood = new Map(
      moved.map(({ partition, stood, counted }) => [partition, { next: stood, ahead: counted }]),
    )
    return message => isCounted(message, stood)
  }
}

function isCounted({ received }: DecidedMessage, stood: ReadonlyMap<string, Stood>): boolean {
  const { partition, place } = received.delivery
  const before = stood.get(partition)
  if (place === null || before === undefined) return false
  const { at } = place
  return (
    isBefore(at, before.next) || before.ahead.some(([from, to]) => !isBefore(at, from) && isBefore(at, to))
  )
}

/** By partition: the places that this batch decides and its position does not cover. */
function aheadOf(
  progress: readonly Progress[],
  decided: readonly DecidedMessage[],
): readonly (readonly PlaceRange[])[] {
  const ahead = new Map(progress.map(({ partition }) => [partition, [] as [string, string][]]))
  const covered = new Map(progress.map(({ partition, next }) => [partition, next]))
  for (const { received, decision } of decided) {
    const { partition, place } = received.delivery
    const end = covered.get(partition)
    if (place === null || end === undefined || decision.outcome === 'retry') continue
    if (end !== null && isBefore(place.at, end)) continue
    append(ahead.get(partition)!, place.since ?? place.at, place.next)
  }
  return progress.map(({ partition }) => ahead.get(partition)!)
}

/**
 * Compares two whole numbers as text. It runs twice for every message, and parsed numbers would be garbage to
 * collect.
 */
function isBefore(one: string, other: string): boolean {
  return one.length === other.length ? one < other : one.length < other.length
}

function append(stretches: [string, string][], from: string, to: string): void {
  const last = stretches.at(-1)
  if (last?.[1] === from) last[1] = to
  else stretches.push([from, to])
}

function assertMoved(campaignId: string, progress: readonly Progress[], moved: ReadonlySet<string>): void {
  const partitions = progress.map(one => one.partition).filter(partition => !moved.has(partition))
  if (partitions.length === 0) return
  throw new OncewardError(
    'ownership_lost',
    `Another process has taken over campaign ${campaignId}. Nothing was committed.`,
    { details: { partitions } },
  )
}
