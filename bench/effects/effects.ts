import { ContenderProcess } from '../contender-process.ts'
import { fillPostgres, fillRabbitmq } from '../fill.ts'
import { median } from '../median.ts'
import { type PreparedPlace, queueNameOf } from '../place.ts'
import type { IdOrder, Load } from '../workload.ts'
import { type Aim, type Contest, contests, type EffectContender } from './contests.ts'
import { measureRelays, type RelayRates } from './relay/relays.ts'

export interface EffectRate {
  readonly name: string
  readonly ids: IdOrder
  readonly rates: readonly number[]
}

export interface EffectAim extends Aim {
  /** The lower of ordered and random ids, each the ratio of two medians. */
  readonly ratio: number
}

export interface ContestRates {
  readonly rates: readonly EffectRate[]
  readonly aims: readonly EffectAim[]
}

export interface Effects extends ContestRates {
  readonly relays: readonly RelayRates[]
}

export interface EffectsPlan {
  readonly rounds: number
  readonly effectCount: number
  readonly roles: readonly string[] | null
  readonly profileFolder: string | null
}

export async function measureEffects(
  place: PreparedPlace,
  plan: EffectsPlan,
  say: (line: string) => void,
): Promise<Effects> {
  const { rates, aims } = await measureContests(place, contests, plan, say)
  const relays =
    plan.roles === null || plan.roles.includes('relay') ? await measureRelays(place, plan, say) : []
  const relayAims = relays.map(({ broker, hand, ours }) => ({
    of: `relay to ${broker}`,
    to: 'by hand',
    atLeast: 0.95,
    ratio: median(ours) / median(hand),
  }))
  return { rates, relays, aims: [...aims, ...relayAims] }
}

/** Contest after contest; inside one, rounds visit every contender in turn, the first of them uncounted. */
export async function measureContests(
  place: PreparedPlace,
  contests: readonly Contest[],
  plan: EffectsPlan,
  say: (line: string) => void,
): Promise<ContestRates> {
  const rates: EffectRate[] = []
  const aims: EffectAim[] = []
  const takes = ({ name }: EffectContender) => plan.roles === null || plan.roles.includes(name)
  for (const contest of contests) {
    const taking = contest.contenders.filter(takes)
    if (taking.length === 0) continue
    if (contest.tables !== null) await place.pool.query(contest.tables)
    rates.push(...(await measureContest(place, contest, taking, plan, say)))
    for (const aim of contest.aims) {
      const ratio = lowestRatio(rates, aim)
      if (ratio !== null) aims.push({ ...aim, ratio })
    }
  }
  return { rates, aims }
}

async function measureContest(
  place: PreparedPlace,
  contest: Contest,
  contenders: readonly EffectContender[],
  { rounds, effectCount: count, profileFolder }: EffectsPlan,
  say: (line: string) => void,
): Promise<readonly EffectRate[]> {
  const processes = contenders.map(contender => new ContenderProcess(contender, place, profileFolder))
  const measured = (['ordered', 'random'] as const).flatMap(ids =>
    contenders.map((contender, index) => ({
      name: contender.name,
      ids,
      process: processes[index]!,
      rates: [] as number[],
    })),
  )
  try {
    for (let round = 0; round <= rounds; round++) {
      for (const { name, ids, process, rates } of round % 2 === 0 ? measured : measured.toReversed()) {
        const load = { ids, round, count }
        const { seconds, cpuSeconds } = await measureOne(place, contest, name, process, load)
        if (round > 0) rates.push(count / seconds)
        const micros = ((cpuSeconds * 1e6) / count).toFixed(1)
        say(
          `round ${round || 'warm-up'}  ${name}, ${ids} ids  ${Math.round(count / seconds)}/s  ${micros} us`,
        )
      }
    }
  } finally {
    for (const process of processes) await process.end()
  }
  return measured
}

async function measureOne(
  place: PreparedPlace,
  contest: Contest,
  name: string,
  process: ContenderProcess,
  load: Load,
) {
  await place.reset()
  await place.pool.query(contest.reset)
  const queue = queueNameOf(name)
  if (contest.broker === 'rabbitmq') await fillRabbitmq(place.rabbitmqUrl!, queue, contest.bodies(load))
  else await fillPostgres(place.pool, queue, contest.bodies(load))
  await place.pool.query('checkpoint')
  const spent = await process.consume({ queue, group: '', partitions: 1, load })
  await contest.verify(place.pool, name, load)
  return spent
}

function lowestRatio(rates: readonly EffectRate[], { of, to }: Aim): number | null {
  const rate = (ids: IdOrder, name: string) => {
    const found = rates.find(one => one.ids === ids && one.name === name)
    return found === undefined ? Number.NaN : median(found.rates)
  }
  const lowest = Math.min(rate('ordered', of) / rate('ordered', to), rate('random', of) / rate('random', to))
  return Number.isNaN(lowest) ? null : lowest
}
