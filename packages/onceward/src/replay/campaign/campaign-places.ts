import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { OncewardError } from '../../errors.ts'
import type { Progress } from '../../ports/source.ts'
import type { DecidedMessage } from '../../ports/store.ts'
import type { MovePlace } from './campaign-journal.ts'

export interface MoveOptions {
  readonly campaignId: string
  readonly runId: number
  readonly progress: readonly Progress[]
}

/** A partition as it stood before the batch: everything below `next` is counted, and what is ahead. */
interface Stood {
  readonly next: string
  readonly ahead: readonly PlaceRange[]
}

export type PlaceRange = readonly [from: string, to: string]

/**
 * Positions in one order, and what was decided behind them: `ahead` grows by what the batch decided and loses
 * what the place has passed. Its stretches are as many as there are undecided records between them, and those
 * are bounded. Nothing moves back: of a batch whose commit nobody heard of, a part that is run again ends
 * before the place.
 */
const moveOn = `
  with mine as materialized (
    select m.partition, m.epoch, m.incarnation, m.ahead, p.next as stood, p.ahead as counted, greatest(m.next::bigint, p.next::bigint) as next
    from onceward.campaign_partition p
    join unnest($3::text[], $4::integer[], $5::text[], $6::text[], $7::text[]) as m (partition, epoch, incarnation, next, ahead) using (partition)
    where p.campaign_id = $1 and p.epoch = m.epoch order by p.partition for no key update of p)
  update onceward.campaign_partition p
  set next = mine.next::text, incarnation = mine.incarnation, run_id = $2, at = clock_timestamp(),
    ahead = p.ahead + mine.ahead::int8multirange - int8multirange(int8range(null, mine.next))
  from mine where p.campaign_id = $1 and p.partition = mine.partition and p.epoch = mine.epoch
  returning p.partition, mine.stood, mine.counted::text as counted`

/**
 * Rejects with `ownership_lost` when another process has a partition by now. A message is counted with its
 * place, once: read again, after a death or because nobody heard of a commit, it finds its place counted.
 * (Skipping such places while reading would not help those whose commit was not heard of.)
 */
export function movePlaces({ campaignId, runId, progress }: MoveOptions): MovePlace {
  return async (tx, decided) => {
    const { rows } = await tx.query<{ partition: string; stood: string; counted: string }>(moveOn, [
      campaignId,
      runId,
      progress.map(one => one.partition),
      progress.map(one => one.epoch),
      progress.map(one => one.incarnation),
      progress.map(one => one.next),
      aheadOf(progress, decided),
    ])
    assertMoved(campaignId, progress, new Set(rows.map(row => row.partition)))
    const stood = new Map(
      rows.map(row => [row.partition, { next: row.stood, ahead: stretches(row.counted) }]),
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

/**
 * By partition, as the database writes them: the places this batch decides and its position does not cover.
 */
function aheadOf(progress: readonly Progress[], decided: readonly DecidedMessage[]): readonly string[] {
  const ahead = new Map(progress.map(({ partition }) => [partition, [] as [string, string][]]))
  const covered = new Map(progress.map(({ partition, next }) => [partition, next]))
  for (const { received, decision } of decided) {
    const { partition, place } = received.delivery
    const end = covered.get(partition)
    if (place === null || end === undefined || decision.outcome === 'retry') continue
    if (end !== null && isBefore(place.at, end)) continue
    append(ahead.get(partition)!, place.since ?? place.at, place.next)
  }
  return progress.map(({ partition }) => `{${ahead.get(partition)!.map(([from, to]) => `[${from},${to})`)}}`)
}

/**
 * Of two whole numbers as they are written: twice for every message, where numbers made of them were garbage.
 */
function isBefore(one: string, other: string): boolean {
  return one.length === other.length ? one < other : one.length < other.length
}

function append(stretches: [string, string][], from: string, to: string): void {
  const last = stretches.at(-1)
  if (last?.[1] === from) last[1] = to
  else stretches.push([from, to])
}

function stretches(text: string): readonly PlaceRange[] {
  return Array.from(text.matchAll(/\[(\d+),(\d+)\)/g), ([, from, to]) => [from!, to!])
}

/** By partition, what was decided behind the place. */
export async function decidedPlaces(
  client: SqlClient,
  campaignId: string,
): Promise<ReadonlyMap<string, readonly PlaceRange[]>> {
  const { rows } = await client.query(
    'select partition, ahead::text as ahead from onceward.campaign_partition where campaign_id = $1',
    [campaignId],
  )
  return new Map(rows.map(row => [row.partition as string, stretches(row.ahead as string)]))
}

function assertMoved(campaignId: string, progress: readonly Progress[], moved: ReadonlySet<string>): void {
  const partitions = progress.map(one => one.partition).filter(partition => !moved.has(partition))
  if (partitions.length === 0) return
  throw new OncewardError(
    'ownership_lost',
    `Another process runs campaign ${campaignId} by now. Nothing was committed.`,
    { details: { partitions } },
  )
}
