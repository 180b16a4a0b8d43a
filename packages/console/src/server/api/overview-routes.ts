import { z } from 'zod'
import { activeAlerts } from './active-alerts.ts'
import { flowOf } from './flow.ts'
import type { Call, Route } from './route.ts'
import type { Overview, Rates } from './screens.ts'

export const overviewAnswer = z.object({
  at: z.date(),
  attention: z.array(
    z.object({
      severity: z.enum(['critical', 'warning']),
      consumer: z.string().nullable(),
      text: z.string(),
      page: z.string(),
    }),
  ),
  consumers: z.array(z.looseObject({ name: z.string() })),
  groups: z.array(z.looseObject({ consumer: z.string(), cause: z.string(), count: z.number() })),
  approvals: z.number().describe('Requests that wait for a second person.'),
  redrives: z.array(z.looseObject({ requestId: z.string() })),
  outbox: z.array(z.looseObject({})).describe('Empty for people whose rights have a scope.'),
  schemaVersion: z.number().nullable(),
})

export const overviewRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/overview',
    summary: 'Every consumer in scope, and what needs attention',
    role: 'viewer',
    answer: overviewAnswer,
    handle: async call =>
      shownOverview(
        await call.screens.overview.now(),
        await call.screens.rates.now(),
        call.contracts,
        await call.visible(),
      ),
  },
  {
    method: 'get',
    path: '/headline',
    isLive: true,
    summary: 'The card of the program that serves the console; null without one',
    role: 'viewer',
    answer: z.object({ headline: z.looseObject({ title: z.string() }).nullable() }),
    handle: async call => ({ headline: call.headline?.() ?? null }),
  },
]

/** The part of the overview that is in scope. */
export function shownOverview(
  overview: Overview,
  rates: Rates,
  contracts: Call['contracts'],
  visible: Awaited<ReturnType<Call['visible']>>,
): object {
  const isShown = (consumer: string | null) =>
    visible === undefined || (consumer !== null && visible.includes(consumer))
  const { status, readers } = overview
  const consumers = status.consumers
    .filter(({ name }) => isShown(name))
    .map(consumer => ({
      ...consumer,
      ...flowWithAlerts(consumer.name, overview, rates, contracts),
      sources: readers
        .filter(reader => reader.consumer === consumer.name)
        .map(({ kind, place }) => ({ kind, place })),
      partitions: status.partitions.filter(one => one.consumer === consumer.name).length,
      queued: status.queues
        .filter(({ name }) =>
          readers.some(reader => reader.consumer === consumer.name && reader.place === name),
        )
        .reduce((sum, { waiting }) => sum + waiting, 0),
      effects: status.ledger.filter(effect => effect.consumer === consumer.name),
    }))
  return {
    at: overview.at,
    schemaVersion: status.schemaVersion,
    attention: overview.attention.filter(({ consumer }) => isShown(consumer)),
    consumers,
    groups: overview.groups.filter(({ consumer }) => isShown(consumer)),
    approvals: overview.trouble.requests
      .filter(({ consumer }) => isShown(consumer))
      .reduce((sum, { count }) => sum + count, 0),
    redrives: overview.redrives.filter(({ consumer }) => isShown(consumer)),
    outbox: visible === undefined ? status.outbox : [],
  }
}

function flowWithAlerts(
  name: string,
  overview: Overview,
  rates: Rates,
  contracts: Call['contracts'],
): object {
  const contract = contracts.get(name)
  const flow = flowOf(name, overview, rates, contract)
  return { ...flow, alerts: activeAlerts(name, overview, flow, contract).length }
}
