import { ContenderProcess, type Spent } from './contender-process.ts'
import {
  appliesEffects,
  type Contender,
  isOnceward,
  keepsCheckpoint,
  readsLog,
} from './contenders/contenders.ts'
import { assertConsumed, prepareTask } from './intake.ts'
import type { PreparedPlace } from './place.ts'
import type { IdOrder, Load } from './workload.ts'

export interface RoundsPlan {
  readonly rounds: number
  readonly count: number
  /**
   * Logs are filled once for all and read ten times as fast: with as few as on a queue a round would last
   * half a second.
   */
  readonly logCount: number
  /** Contenders below 5,000 a second get fewer: rates are per second. */
  readonly slowCount: number
  readonly profileFolder: string | null
}

const slowRate = 5_000

/**
 * Rounds that are not counted: a short one, which shows who is fast, and a full one. In the first full round a
 * message of the batch form costs 12 us of processor time, later 8; of the loop by hand 7, later 5.5.
 */
const warmUps = 2

/** Every round that counts. */
export interface Measured {
  readonly contender: Contender
  readonly ids: IdOrder
  /** Messages per second. */
  readonly rates: readonly number[]
  /**
   * Microseconds of the contender's own processor time per message: says less than a rate, but a busy machine
   * disturbs it less.
   */
  readonly cpuMicros: readonly number[]
}

/** Interleaved rounds: each round visits every contender, beginning with another one each time. */
export async function measureRounds(
  place: PreparedPlace,
  contenders: readonly Contender[],
  plan: RoundsPlan,
  say: (line: string) => void,
): Promise<readonly Measured[]> {
  const processes = new Map(
    contenders.map(contender => {
      const folder = isOnceward(contender.role) ? plan.profileFolder : null
      return [contender, new ContenderProcess(contender, place, folder)]
    }),
  )
  const measured = (['ordered', 'random'] as const).flatMap(ids =>
    contenders.map(contender => ({ contender, ids, rates: [] as number[], cpuMicros: [] as number[] })),
  )
  const warm = new Map<Measured, number>()
  try {
    for (let round = 0; round < plan.rounds + warmUps; round++) {
      for (const logs of Object.values(place.logs)) await logs?.deleteBefore(round)
      for (const entry of rotate(measured, round * 5)) {
        const { contender, ids, rates, cpuMicros } = entry
        const fast = round > 0 && (warm.get(entry) ?? 0) > slowRate
        const count = fast ? (readsLog(contender) ? plan.logCount : plan.count) : plan.slowCount
        const load = { ids, round, count }
        const { seconds, cpuSeconds } = await measureOne(place, contender, processes.get(contender)!, load)
        const rate = count / seconds
        const micros = (cpuSeconds * 1e6) / count
        if (round === 0) warm.set(entry, rate)
        if (round >= warmUps) {
          rates.push(rate)
          cpuMicros.push(micros)
        }
        say(
          `round ${round < warmUps ? 'warm-up' : round - warmUps + 1}  ${contender.name}, ${ids} ids  ${Math.round(rate)}/s  ${micros.toFixed(1)} us`,
        )
      }
    }
  } finally {
    for (const process of processes.values()) await process.end()
  }
  return measured
}

async function measureOne(
  place: PreparedPlace,
  contender: Contender,
  process: ContenderProcess,
  load: Load,
): Promise<Spent> {
  const { name, role } = contender
  await place.reset()
  const task = await prepareTask(place, contender, load)
  await place.pool.query('checkpoint')
  const spent = await process.consume(task)
  await assertConsumed(place, contender, task)
  const effects = appliesEffects(role) ? load.count : 0
  await place.verify(name, effects, keepsCheckpoint(role) ? 0 : effects)
  return spent
}

function rotate<T>(list: readonly T[], by: number): T[] {
  const at = by % list.length
  return [...list.slice(at), ...list.slice(0, at)]
}
