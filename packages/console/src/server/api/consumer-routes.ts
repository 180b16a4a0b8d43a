import { contractPage, groupParked, renderPage } from 'onceward/operations'
import { z } from 'zod'
import { notFound } from '../http/problem.ts'
import type { Route } from './route.ts'

export const consumerRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/consumers/{name}',
    summary: 'One consumer: runs, partitions, held work, effects, retention, contract',
    role: 'viewer',
    answer: z.looseObject({ name: z.string() }),
    handle: async (call, { params }) => {
      const name = params.name!
      await call.assertVisible(name)
      const { status, readers } = await call.screens.overview.now()
      const generations = status.consumers.filter(one => one.name === name)
      if (generations.length === 0) throw notFound(`Consumer ${name}`)
      const contract = call.contracts.get(name)
      const of = <T extends { readonly consumer: string }>(rows: readonly T[]) =>
        rows.filter(row => row.consumer === name)
      return {
        name,
        generations,
        readers: of(readers),
        partitions: of(status.partitions),
        effects: of(status.ledger),
        unserved: of(status.unserved),
        retention: of(status.retention.consumers),
        horizons: of(status.retention.horizons),
        groups: await groupParked(call.pool, { consumer: name, countMax: 50 }),
        contract: contract === undefined ? null : renderPage(contractPage(contract as never)),
      }
    },
  },
]
