import type { AuditRow, LedgerEntry, StuckMessage } from 'onceward/operations'
import { z } from 'zod'

const text = z.string().nullable()
const number = z.number().nullable()

export const effect = z.object({
  id: z.string(),
  consumer: z.string(),
  target: z.string(),
  key: z.string(),
  type: text,
  messageId: z.string(),
  businessKey: text,
  state: z.string(),
  waitsForPeople: z.boolean(),
  attempts: z.number(),
  createdAt: z.date(),
  lastAttemptAt: z.date().nullable(),
  completedAt: z.date().nullable(),
  note: text,
}) satisfies z.ZodType<LedgerEntry>

/** After an act too. The excerpt of an answer is shown by `GET /ledger/{id}` only. */
export const effectDetail = effect.extend({
  runId: z.number(),
  epoch: z.number(),
  doubtSince: z.date().nullable(),
  contentType: z.string(),
  bodyBytes: z.number(),
  requestDigest: z.string(),
  responseStatus: number,
  responseDigest: text,
  responseExcerpt: text.describe('Null unless the person sees whole payloads.'),
  actions: z.array(
    z.object({
      at: z.date(),
      actor: z.string(),
      action: z.string(),
      reason: z.string(),
      from: z.string(),
      to: z.string(),
    }),
  ),
  mail: z.looseObject({}).nullable().describe('Of an e-mail: its recipients and subject.'),
})

export const outboxQueue = z.object({
  destination: z.string(),
  broker: z.string(),
  queue: z.string(),
  waiting: z.number(),
  oldestSeconds: z.number(),
  failing: z.number(),
  behind: z.number(),
  lastError: text,
  served: z.boolean(),
})

const stuck = z.object({
  id: z.string(),
  kind: z.enum(['message', 'retry copy', 'dead letter']),
  destination: z.string(),
  exchange: text,
  queue: z.string(),
  messageId: z.string(),
  key: text,
  bodyBytes: z.number(),
  failures: z.number(),
  error: text,
  behind: z.number(),
  writtenAt: z.date(),
}) satisfies z.ZodType<StuckMessage>

export const outboxAnswer = z.object({
  outbox: z.array(outboxQueue),
  relays: z.array(
    z.object({
      destination: z.string(),
      instance: z.string(),
      buckets: z.number(),
      leasedAt: z.date().nullable(),
      leaseSeconds: z.number(),
    }),
  ),
  destinations: z.array(
    z.object({
      name: z.string(),
      firstAt: z.date().nullable(),
      relays: z.number(),
      waiting: z.number(),
      stuck: z.number(),
      behind: z.number(),
    }),
  ),
  stuck: z.array(stuck),
})

export const auditRow = z.object({
  seq: z.string(),
  at: z.string(),
  actor: z.string(),
  action: z.string(),
  outcome: z.enum(['done', 'refused']),
  consumer: text,
  subject: text,
  reason: z.string(),
  detail: z.string().describe('JSON text.'),
  hash: z.string(),
}) satisfies z.ZodType<AuditRow>

export const auditVerdict = z.looseObject({
  rows: z.number(),
  head: z.string(),
  problems: z.array(
    z.object({
      seq: z.string(),
      what: z.enum(['changed', 'missing', 'inserted', 'head', 'anchor']),
      text: z.string(),
    }),
  ),
})
