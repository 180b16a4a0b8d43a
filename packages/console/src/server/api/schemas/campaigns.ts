import { z } from 'zod'

const text = z.string().nullable()
const time = z.date().nullable()

export const campaign = z.object({
  id: z.string(),
  consumer: z.string(),
  generation: z.number(),
  liveGeneration: z.number(),
  risk: z.string(),
  mode: z.enum(['live', 'replay', 'backfill', 'rebuild', 'repair', 'forensic']),
  effects: z.enum(['suppressed', 'requested']),
  state: z.enum([
    ...(['created', 'previewed', 'running', 'paused', 'failed'] as const),
    ...(['ran', 'verified', 'swapped', 'finished', 'cancelled'] as const),
  ]),
  selection: z.looseObject({ of: z.string() }),
  plan: z.looseObject({ unit: z.enum(['offsets', 'bytes', 'rows']) }).nullable(),
  planDigest: text,
  needsApproval: z.boolean(),
  approvedBy: text,
  approvalExpiresAt: time,
  rateMax: z.number().nullable(),
  reason: z.string(),
  requestedBy: z.string(),
  requestedAt: z.date(),
  holder: text,
  held: z.boolean(),
  leasedAt: time,
  startedAt: time,
  endedAt: time,
  failure: text,
  waitsForApproval: z.boolean().optional(),
})

export const campaignAnswer = z.object({
  campaign,
  progress: z.object({
    done: z.number(),
    extent: z.number(),
    outcomes: z.record(z.string(), z.number()),
    messages: z.number(),
    findings: z.number(),
    suppressedEffects: z.number(),
    secondsRun: z.number(),
    secondsLeft: z.number().nullable(),
  }),
  events: z.array(z.object({ at: z.date(), actor: z.string(), did: z.string(), detail: text })),
  findings: z.array(
    z.object({
      messageId: z.string(),
      outcome: z.string(),
      code: z.string(),
      key: text,
      position: text,
      reason: text,
    }),
  ),
  mine: z.boolean(),
  conducted: z.boolean(),
  note: text,
  acts: z.array(z.string()).describe('What its state allows; the database decides.'),
  canRun: z.boolean(),
  commands: z.record(z.string(), z.string()),
})
