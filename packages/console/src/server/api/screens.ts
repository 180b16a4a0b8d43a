import {
  type ConsumerTrouble,
  type DeletionRequest,
  groupParked,
  listApprovals,
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
  readonly approvals: readonly DeletionRequest[]
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
    this.rates = new Ticker(() => readRates(pool), 5_000)
  }
}

async function readOverview(pool: SqlPool): Promise<Overview> {
  const [status, readers, groups, approvals, redrives, brakes, trouble] = await Promise.all([
    readStatus(pool),
    listReaders(pool),
    groupParked(pool, { countMax: 200 }),
    listApprovals(pool, 200),
    listRedrives(pool, { countMax: 20 }),
    readBrakes(pool),
    readTrouble(pool),
  ])
  const waiting = approvals.filter(({ state }) => state === 'requested')
  const moving = redrives.filter(({ state }) => state === 'moving')
  const attention = findAttention(status, waiting, { brakes, trouble })
  return {
    at: new Date(),
    status,
    readers,
    groups,
    approvals: waiting,
    redrives: moving,
    attention,
    brakes,
    trouble,
  }
}
