import {
  groupParked,
  listApprovals,
  listReaders,
  listRedrives,
  readStatus,
  type SqlPool,
} from 'onceward/operations'
import { Ticker } from '../live/ticker.ts'
import { type Attention, findAttention } from './attention.ts'

export type Overview = Awaited<ReturnType<typeof readOverview>>

/** Queries that several people watch. Each runs at most once a second. */
export class Screens {
  readonly overview: Ticker<Overview>

  constructor(pool: SqlPool) {
    this.overview = new Ticker(() => readOverview(pool))
  }
}

async function readOverview(pool: SqlPool) {
  const [status, readers, groups, approvals, redrives] = await Promise.all([
    readStatus(pool),
    listReaders(pool),
    groupParked(pool, { countMax: 200 }),
    listApprovals(pool, 200),
    listRedrives(pool, { countMax: 20 }),
  ])
  const waiting = approvals.filter(({ state }) => state === 'requested')
  const moving = redrives.filter(({ state }) => state === 'moving')
  const attention: readonly Attention[] = findAttention(status, waiting)
  return { at: new Date(), status, readers, groups, approvals: waiting, redrives: moving, attention }
}
