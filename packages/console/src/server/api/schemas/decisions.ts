import type { DeclaredLoss } from 'onceward/operations'
import { z } from 'zod'
import { reader } from './consumers.ts'

const text = z.string().nullable()

export const loss = z.object({
  id: z.number(),
  consumer: z.string(),
  generation: z.number(),
  partition: z.string(),
  from: z.string(),
  to: text,
  records: z.number().nullable(),
  reason: z.string(),
  declaredAt: z.date(),
  acceptedBy: text,
  acceptedBecause: text,
  withdrawnBecause: text,
  digest: z.string(),
  state: z.enum(['open', 'accepted', 'resumed', 'withdrawn']),
}) satisfies z.ZodType<DeclaredLoss>

const incarnation = z.object({
  id: z.string(),
  systemIdentifier: text,
  timeline: z.number().nullable(),
  detectedAt: z.date(),
  why: z.string(),
  detectedBy: text,
  completeUntil: z.date().nullable(),
  acceptedAt: z.date().nullable(),
  acceptedBy: text,
  acceptedBecause: text,
})

export const decisionsAnswer = z.object({
  losses: z.array(loss.extend({ command: z.string() })),
  restore: z
    .object({
      inRecovery: z.boolean(),
      open: incarnation.nullable(),
      incarnations: z.array(incarnation),
      exposures: z.array(
        z.object({
          consumer: z.string(),
          kind: z.string(),
          place: z.string(),
          reader: z.string(),
          keeper: z.enum(['broker', 'store', 'queue']),
          partitions: z.array(z.object({ partition: z.string(), next: z.string() })),
          targets: z.array(z.string()),
        }),
      ),
    })
    .nullable()
    .describe('Null, like the lists below empty, for people whose rights have a scope.'),
  brokers: z.array(
    z.object({
      kind: z.string(),
      cluster: z.string(),
      announced: z.array(z.string()),
      firstAt: z.date(),
      addedBy: z.string(),
      because: z.string(),
    }),
  ),
  readers: z.array(reader),
})
