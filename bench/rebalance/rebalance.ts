import { setTimeout as sleep } from 'node:timers/promises'
import { evenPartitions } from '../logs/partition-of.ts'
import { median } from '../median.ts'
import type { PreparedPlace } from '../place.ts'
import { Member, settledAt } from './member.ts'
import type { MemberSample } from './process.ts'

/** One of two consumers of a topic is killed (SIGKILL) while both work on a backlog. */
export interface Rebalance {
  /** Seconds from the kill to the first effects of its partitions by the survivor. */
  readonly movingS: number
  /** Seconds from the kill until the survivor has all partitions and the rate it keeps from then on. */
  readonly fullS: number
  readonly rateBefore: number
  /** Of the survivor, between the kill and the takeover. */
  readonly rateBetween: number
  readonly rateAfter: number
}

const warmUpMs = 3_000
const afterMs = 4_000
const windowMs = 500
const fullShare = 0.9

export async function measureRebalance(
  place: PreparedPlace,
  count: number,
  say: (line: string) => void,
): Promise<Rebalance> {
  await place.reset()
  const load = { ids: 'ordered', round: 0, count } as const
  const task = await place.logs.kafka!.prepare(evenPartitions, load, 'rebalance')
  const survivor = new Member(task, place)
  const victim = new Member(task, place)
  try {
    await Promise.all([survivor.holds(evenPartitions / 2), victim.holds(evenPartitions / 2)])
    await sleep(warmUpMs)
    const orphans = victim.held
    const killedMs = Number(process.hrtime.bigint()) / 1e6
    victim.kill()
    say(`killed the consumer of ${orphans.join(', ')}`)
    await survivor.holds(evenPartitions)
    await survivor.hasSettled(orphans)
    await sleep(afterMs)
    return summarise(survivor, victim, orphans, killedMs)
  } finally {
    victim.kill()
    survivor.kill()
  }
}

function summarise(
  survivor: Member,
  victim: Member,
  orphans: readonly string[],
  killedMs: number,
): Rebalance {
  const { samples } = survivor
  const movingMs = samples.find(sample => settledAt(sample, orphans) > 0)!.atMs
  const after = ratesOf(samples.filter(({ atMs }) => atMs >= movingMs))
  const rateAfter = median(after.map(({ rate }) => rate))
  const full = after.find(({ rate }) => rate >= fullShare * rateAfter)!
  const before = [survivor, victim].map(member =>
    median(ratesOf(within(member.samples, killedMs - warmUpMs, killedMs)).map(({ rate }) => rate)),
  )
  return {
    movingS: (movingMs - killedMs) / 1_000,
    fullS: (full.fromMs - killedMs) / 1_000,
    rateBefore: before[0]! + before[1]!,
    rateBetween: median(ratesOf(within(samples, killedMs, movingMs)).map(({ rate }) => rate)),
    rateAfter,
  }
}

function within(samples: readonly MemberSample[], fromMs: number, toMs: number): MemberSample[] {
  return samples.filter(({ atMs }) => atMs >= fromMs && atMs < toMs)
}

/** Records per second in windows of half a second, each beginning at a sample. */
function ratesOf(samples: readonly MemberSample[]): { fromMs: number; rate: number }[] {
  const total = (sample: MemberSample) => settledAt(sample, Object.keys(sample.settled))
  return samples.flatMap((first, index) => {
    const last = samples.slice(index).find(({ atMs }) => atMs - first.atMs >= windowMs)
    if (last === undefined) return []
    const seconds = (last.atMs - first.atMs) / 1_000
    return [{ fromMs: first.atMs, rate: (total(last) - total(first)) / seconds }]
  })
}
