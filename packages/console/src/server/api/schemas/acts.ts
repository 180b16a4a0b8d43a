import type { DeletionRequest, RedriveReport, RedriveSummary } from 'onceward/operations'
import { z } from 'zod'
import { message } from './messages.ts'

const text = z.string().nullable()

/** `repeated`: the act was done by an earlier request with the same key; this is its answer. */
export const done = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.object({ ok: z.literal(true), ...shape, repeated: z.literal(true).optional() })

const commands = z.record(z.string(), z.string()).describe('Commands of a terminal that do the same.')

export const selectionAnswer = z.object({
  id: z.string(),
  consumer: z.string(),
  count: z.number().describe('Exactly so many messages are selected.'),
  digest: z.string(),
  more: z.boolean().describe('More messages match than the limit allows.'),
  behind: z.number().describe('Messages that wait behind the selected ones.'),
  keys: z.number(),
  waitsForApproval: z.number(),
  sample: z.array(message),
  commands,
})

const redrive = {
  requestId: z.string(),
  consumer: z.string(),
  state: z.enum(['moving', 'stopped', 'moved']),
  by: z.string(),
  at: z.date(),
  because: z.string(),
  perSecond: z.number().nullable(),
  digest: z.string(),
}
const conducted = z.boolean().describe('This console moves it, or did since its start.')

export const redriveSummary = z.object({
  ...redrive,
  selected: z.number(),
  moved: z.number(),
  left: z.number(),
  behind: z.number(),
}) satisfies z.ZodType<RedriveSummary>

export const listedRedrive = redriveSummary.extend({ conducted })

export const redriveAnswer = z.object({
  ...redrive,
  stoppedBecause: text,
  outcomes: z.record(z.string(), z.number()),
  rows: z.array(
    z.object({ id: z.string(), messageId: text, behind: z.boolean(), outcome: z.string(), why: text }),
  ),
  conducted: z.boolean(),
  note: text.describe('Why it stopped here.'),
  commands,
}) satisfies z.ZodType<RedriveReport>

export const request = z.object({
  id: z.string(),
  verb: z.enum(['delete', 'fix']),
  consumer: z.string(),
  rows: z.number(),
  ids: z.array(z.string()),
  digest: z.string(),
  because: z.string(),
  requestedBy: z.string(),
  requestedAt: z.date(),
  expiresAt: z.date(),
  approvedBy: text,
  executedBy: text,
  declinedBy: text,
  declinedBecause: text,
  state: z.enum(['requested', 'approved', 'executed', 'declined', 'expired']),
}) satisfies z.ZodType<DeletionRequest>

/** The fields of an act, with those of the request as it is now. */
export const requestAct = request.extend({
  ok: z.literal(true).optional(),
  repeated: z.literal(true).optional(),
})

export const listedRequest = request.extend({ mine: z.boolean(), commands })
