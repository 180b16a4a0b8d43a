import type { Consumer } from 'onceward'
import type { Overview, Rates } from './screens.ts'

/** A limit of the contract, and where the consumer stands. */
export interface Objective {
  readonly name: string
  readonly limit: number
  /** Null: unknown. */
  readonly actual: number | null
  readonly unit: 's' | 'messages' | 'share'
  readonly burnt: boolean
}

/** How a consumer does: rate, lag, what stops it, and its objectives. */
export interface Flow {
  readonly rate: { readonly perSecond: number | null; readonly applied: readonly (number | null)[] }
  readonly lag: { readonly messages: number | null; readonly oldestSeconds: number | null }
  readonly halted: { readonly reason: string; readonly at: Date } | null
  readonly brakes: readonly {
    readonly type: string
    readonly cause: string
    readonly messages: number
    readonly since: string
  }[]
  readonly objectives: readonly Objective[]
}

const noSamples: readonly null[] = Array.from({ length: 60 }, () => null)

export function flowOf(
  name: string,
  overview: Overview,
  rates: Rates,
  contract: Consumer<never, never> | undefined,
): Flow {
  const series = rates.consumers.find(one => one.consumer === name)
  const halt = overview.trouble.halts.find(one => one.consumer === name)
  const lag = { messages: lagOf(name, rates), oldestSeconds: oldestPending(name, overview) }
  return {
    rate: { perSecond: series?.perSecond ?? null, applied: series?.applied ?? noSamples },
    lag,
    halted: halt === undefined ? null : { reason: halt.reason, at: halt.at },
    brakes: overview.brakes.filter(({ consumer }) => consumer === name),
    objectives: contract === undefined ? [] : objectivesOf(contract, overview, rates, lag),
  }
}

function lagOf(name: string, { lag }: Rates): number | null {
  const known = lag.filter(({ consumer }) => consumer === name)
  return known.length === 0 ? null : known.reduce((sum, { behind }) => sum + behind, 0)
}

/** Of work in the store, and of queues of the database. Brokers do not report the age of what waits. */
function oldestPending(name: string, { status, readers }: Overview): number | null {
  const places = readers.filter(({ consumer }) => consumer === name).map(({ place }) => place)
  const ages = [
    ...status.consumers.filter(one => one.name === name).map(one => one.oldestPendingSeconds),
    ...status.queues.filter(queue => places.includes(queue.name)).map(queue => queue.oldestSeconds),
  ].filter(age => age !== null)
  return ages.length === 0 ? null : Math.max(...ages)
}

function objectivesOf(
  { name, objectives, failure }: Consumer<never, never>,
  { status, trouble }: Overview,
  rates: Rates,
  lag: Flow['lag'],
): readonly Objective[] {
  const own = status.consumers.filter(one => one.name === name)
  const sum = (of: (one: (typeof own)[number]) => number) => own.reduce((total, one) => total + of(one), 0)
  const aside = trouble.oldestSetAside.find(one => one.consumer === name)
  const judged = (key: string, limit: number, actual: number | null, unit: Objective['unit']): Objective => ({
    name: key,
    limit,
    actual,
    unit,
    burnt: actual !== null && actual > limit,
  })
  return [
    judged('lagMax', objectives.lagMaxMs / 1_000, lag.oldestSeconds, 's'),
    judged('lagRecordsMax', objectives.lagRecordsMax, lag.messages, 'messages'),
    judged(
      'setAsideMax',
      objectives.setAsideMax,
      sum(one => one.parked + one.dead + one.quarantined),
      'messages',
    ),
    judged('setAsideAgeMax', objectives.setAsideAgeMaxMs / 1_000, aside?.seconds ?? 0, 's'),
    judged(
      'parkingShareMax',
      objectives.parkingShareMax,
      sum(one => one.parked) / failure.parking.totalMax,
      'share',
    ),
    judged('duplicateShareMax', objectives.duplicateShareMax, duplicateShare(name, rates), 'share'),
  ]
}

/** Of the last hour; null without a message. */
function duplicateShare(name: string, { consumers }: Rates): number | null {
  const series = consumers.find(one => one.consumer === name)
  const total = (values: readonly (number | null)[] = []) =>
    values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
  const duplicates = total(series?.duplicates)
  const all = duplicates + total(series?.applied) + total(series?.setAside)
  return all === 0 ? null : duplicates / all
}
