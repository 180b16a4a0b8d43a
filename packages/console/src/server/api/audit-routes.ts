import { listAudit, verifyAudit } from 'onceward/operations'
import { z } from 'zod'
import { Ticker } from '../live/ticker.ts'
import { shownDigests } from '../rights/hide-digests.ts'
import type { Call, Route } from './route.ts'

const verdicts = new WeakMap<object, Ticker<Awaited<ReturnType<typeof verifyAudit>>>>()

/** The whole chain is read: once in ten seconds, however many people verify. */
function verdictOf({ pool }: Call) {
  const ticker = verdicts.get(pool) ?? new Ticker(() => verifyAudit(pool), 10_000)
  verdicts.set(pool, ticker)
  return ticker.now()
}

export const auditRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/audit',
    summary: 'Acts and refused attempts, newest first, by page',
    role: 'viewer',
    query: z.object({
      consumer: z.string().optional(),
      before: z
        .string()
        .regex(/^\d{1,18}$/)
        .optional(),
      limit: z.coerce.number().int().min(1).max(500).default(100),
    }),
    answer: z.object({ rows: z.array(z.looseObject({ seq: z.string() })), next: z.string().nullable() }),
    handle: async (call, { query }) => {
      const { consumer, before, limit } = query
      const reach = await call.reach()
      const rows = await listAudit(call.pool, {
        consumer,
        consumers: reach.visible,
        before,
        countMax: limit + 1,
      })
      const shown = rows.slice(0, limit)
      return {
        // The hash of a row is of the chain, not of content.
        rows: shown.map(row => ({ ...shownDigests(row, reach), hash: row.hash })),
        next: rows.length > limit ? shown.at(-1)!.seq : null,
      }
    },
  },
  {
    method: 'get',
    path: '/audit/verify',
    summary: 'Compute every hash of the audit again',
    role: 'viewer',
    answer: z.looseObject({ rows: z.number(), head: z.string(), problems: z.array(z.looseObject({})) }),
    handle: async call => verdictOf(call),
  },
]
