import { ContenderProcess } from './contender-process.ts'
import { type Contender, readsQueue, writesMarkers } from './contenders/contenders.ts'
import { assertEmpty, fillPostgres, fillRabbitmq } from './fill.ts'
import { type PreparedPlace, queueNameOf } from './place.ts'
import { bodiesOf, type IdOrder, type Load } from './workload.ts'

export interface RoundsPlan {
  readonly rounds: number
  readonly count: number
  /** Contenders below 5,000 a second get fewer: rates are per second. */
  readonly slowCount: number
  readonly profileFolder: string | null
}

const slowRate = 5_000

/** Messages per second of every round that counts. */
export interface Measured {
  readonly contender: Contender
  readonly ids: IdOrder
  readonly rates: readonly number[]
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
      const folder = contender.role.endsWith('form') ? plan.profileFolder : null
      return [contender, new ContenderProcess(contender, place, folder)]
    }),
  )
  const measured = (['ordered', 'random'] as const).flatMap(ids =>
    contenders.map(contender => ({ contender, ids, rates: [] as number[] })),
  )
  const warm = new Map<Measured, number>()
  try {
    for (let round = 0; round <= plan.rounds; round++) {
      for (const entry of rotate(measured, round * 5)) {
        const { contender, ids, rates } = entry
        const count = round > 0 && (warm.get(entry) ?? 0) > slowRate ? plan.count : plan.slowCount
        const load = { ids, round, count }
        const rate = await measureOne(place, contender, processes.get(contender)!, load)
        // Round 0 warms the code up and is not counted.
        if (round === 0) warm.set(entry, rate)
        else rates.push(rate)
        say(`round ${round || 'warm-up'}  ${contender.name}, ${ids} ids  ${Math.round(rate)}/s`)
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
): Promise<number> {
  const queue = queueNameOf(contender.name)
  const from = readsQueue(contender.role) ? contender.broker : null
  await place.reset()
  if (from === 'rabbitmq') await fillRabbitmq(place.rabbitmqUrl!, queue, bodiesOf(load))
  if (from === 'postgres') await fillPostgres(place.pool, queue, bodiesOf(load))
  await place.pool.query('checkpoint')
  const seconds = await process.consume({ queue, load })
  if (from === 'rabbitmq') await assertEmpty(place.rabbitmqUrl!, queue)
  await place.verify(contender.name, writesMarkers(contender.role) ? load.count : 0)
  return load.count / seconds
}

function rotate<T>(list: readonly T[], by: number): T[] {
  const at = by % list.length
  return [...list.slice(at), ...list.slice(0, at)]
}
