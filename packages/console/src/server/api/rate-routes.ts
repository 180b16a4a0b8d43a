import { z } from 'zod'
import type { Route } from './route.ts'

const values = z.array(z.number().nullable()).describe('One per minute, oldest first; null: no sample.')

export const rateRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/rates',
    isLive: true,
    summary: 'What each consumer did in each minute of the last hour',
    role: 'viewer',
    query: z.object({ consumer: z.string().optional() }),
    answer: z.object({
      stepSeconds: z.number(),
      from: z.date(),
      consumers: z.array(
        z.looseObject({
          name: z.string(),
          applied: values,
          duplicates: values,
          setAside: values,
          failed: values,
          lag: values,
          pending: values,
        }),
      ),
    }),
    handle: async (call, { query }) => {
      const visible = await call.visible()
      const { from, consumers } = await call.screens.rates.now()
      const shown = consumers.filter(
        ({ consumer }) =>
          (visible === undefined || visible.includes(consumer)) && (query.consumer ?? consumer) === consumer,
      )
      return {
        stepSeconds: 60,
        from,
        consumers: shown.map(({ consumer, ...series }) => ({ name: consumer, ...series })),
      }
    },
  },
]
