import {
  type ConsumerTrouble,
  groupParked,
  listReaders,
  listRedrives,
  type ParkedGroup,
  type RedriveSummary,
  readBrakes,
  readRates,
  readStatus,
  readTrouble,
  type SqlPool,
  type Status,
} from 'onceward/operations'
import { SharedReads } from '../live/shared-reads.ts'
import { Ticker } from '../live/ticker.ts'
import { type Attention, findAttention } from './attention.ts'

/** The whole database, before it is cut to the scope of a person. */
export interface Overview {
  readonly at: Date
  readonly status: Status
  readonly readers: Awaited<ReturnType<typeof listReaders>>
  readonly groups: readonly ParkedGroup[]
  readonly redrives: readonly RedriveSummary[]
  readonly attention: readonly Attention[]
  readonly brakes: Awaited<ReturnType<typeof readBrakes>>
  readonly trouble: ConsumerTrouble
}

export type Rates = Awaited<ReturnType<typeof readRates>>

/** Queries that several people watch. Each runs at most once a second. */
export class Screens {
  readonly overview: Ticker<Overview>
  /** Processes write samples every 15 seconds. */
  readonly rates: Ticker<Rates>
  /** For the routes that pages watch. */
  readonly reads: SharedReads

  constructor(pool: SqlPool) {
    this.reads = new SharedReads(pool)
    // Each of its parts asks for the version of the schema; the shared reads ask once.
    this.overview = new Ticker(() => readOverview(this.reads))
    this.rates = new Ticker(async () => wholeMinutes(await readRates(pool)), 5_000)
  }
}

/** The running minute has counted only a part: a line would end in a fall. */
function wholeMinutes({ consumers, ...rates }: Rates): Rates {
  const whole = (values: readonly (number | null)[]) =>
    values.slice(0, -1).some(value => value !== null) ? [...values.slice(0, -1), null] : values
  const shown = consumers.map(one => ({
    ...one,
    applied: whole(one.applied),
    duplicates: whole(one.duplicates),
    setAside: whole(one.setAside),
    failed: whole(one.failed),
  }))
  return { ...rates, consumers: shown }
}

async function readOverview(pool: SqlPool): Promise<Overview> {
  const [status, readers, groups, redrives, brakes, trouble] = await Promise.all([
    readStatus(pool),
    listReaders(pool),
    groupParked(pool, { countMax: 200 }),
    listRedrives(pool, { state: 'moving', countMax: 100 }),
    readBrakes(pool),
    readTrouble(pool),
  ])
  const attention = findAttention(status, { brakes, trouble })
  return {
    at: new Date(),
    status,
    readers,
    groups,
    redrives,
    attention,
    brakes,
    trouble,
  }
}
