import { contractPage, groupParked, readConsumerDetail, renderPage } from 'onceward/operations'
import { z } from 'zod'
import { notFound } from '../http/problem.ts'
import { withoutKeys } from '../rights/hide-keys.ts'
import { activeAlerts } from './active-alerts.ts'
import { flowOf } from './flow.ts'
import type { Call, Route } from './route.ts'

const shownKeys = 50
const shownRuns = 20

export const consumerRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/consumers/{name}',
    isLive: true,
    summary: 'One consumer: rate, lag, runs, partitions, blocked keys, alerts, retention, contract',
    role: 'viewer',
    answer: z.looseObject({ name: z.string() }),
    handle: async (call, { params }) => showConsumer(call, params.name!),
  },
]

async function showConsumer(call: Call, name: string): Promise<object> {
  await call.assertAllowed(name)
  const [overview, rates] = await Promise.all([call.screens.overview.now(), call.screens.rates.now()])
  const { status, readers } = overview
  const generations = status.consumers.filter(one => one.name === name)
  if (generations.length === 0) throw notFound(`Consumer ${name}`)
  const contract = call.contracts.get(name)
  const flow = flowOf(name, overview, rates, contract)
  const of = <T extends { readonly consumer: string }>(rows: readonly T[]) =>
    rows.filter(row => row.consumer === name)
  const { runs, blockedKeys } = await readConsumerDetail(call.pool, name, {
    runs: shownRuns,
    blockedKeys: shownKeys + 1,
  })
  const seesKeys = call.showsKeys(await call.reach(), name)
  const shownBlocked = blockedKeys.slice(0, shownKeys)
  const alive = new Set(runs.filter(run => run.alive).map(({ instance }) => instance))
  const behind = new Map(of(rates.lag).map(one => [one.partition, one.behind]))
  return {
    name,
    ...flow,
    generations,
    readers: of(readers),
    runs,
    partitions: of(status.partitions).map(one => ({
      ...one,
      lag: behind.get(one.partition) ?? null,
      alive: alive.has(one.owner),
    })),
    blockedKeys: seesKeys ? shownBlocked : withoutKeys(shownBlocked),
    blockedKeysMore: blockedKeys.length > shownKeys,
    alerts: activeAlerts(name, overview, flow, contract),
    effects: of(status.ledger),
    unserved: of(status.unserved),
    retention: of(status.retention.consumers),
    horizons: of(status.retention.horizons),
    groups: await groupParked(call.pool, { consumer: name, countMax: 50 }),
    contract: contract === undefined ? null : renderPage(contractPage(contract as never)),
  }
}
