import type { KeyView, ParkedGroup, ParkedRow, RecordedFix, Story } from 'onceward/operations'
import { z } from 'zod'

const text = z.string().nullable()
const state = z.enum(['parked', 'dead', 'quarantined'])

/** A message that was set aside, without its payload. */
export const message = z.object({
  id: z.string(),
  consumer: z.string(),
  generation: z.number(),
  state,
  cause: z.string().describe('Fingerprint of class, code and place.'),
  failureClass: z.string(),
  code: z.string(),
  place: z.string(),
  reason: z.string().describe('Empty for an error text, if the person does not see whole payloads.'),
  messageId: text,
  key: text,
  businessKey: text,
  attempts: z.number(),
  seen: z.number().describe('How often the same bytes were delivered.'),
  firstAt: z.date(),
  lastAt: z.date(),
  bodyBytes: z.number(),
  label: text,
  assignee: text,
  mode: z.string(),
  campaign: text,
  fixWaits: text.describe('Why a fixed message cannot be redriven yet.'),
}) satisfies z.ZodType<ParkedRow>

export const group = z.object({
  consumer: z.string(),
  generation: z.number(),
  state,
  cause: z.string(),
  failureClass: z.string(),
  code: z.string(),
  place: z.string(),
  count: z.number(),
  example: text,
  oldestAt: z.date().nullable(),
  newestAt: z.date().nullable(),
}) satisfies z.ZodType<ParkedGroup>

const event = z.object({ at: z.date(), what: z.string(), by: text, text: z.string() })
const facts = z.record(z.string(), z.unknown())

const details = message.extend({
  origin: z.string(),
  position: text,
  brokerKey: text,
  correlationId: text,
  messageType: text,
  schemaVersion: text,
  producer: text,
  aggregateId: text,
  aggregateVersion: text,
  deliveryCount: z.number(),
  digest: z.string(),
  error: text,
  handler: z.string(),
  firstFailureAt: z.date(),
  lastFailureAt: z.date(),
  bodyDigest: z.string(),
  timeline: z.array(event),
})

const story = z.object({
  consumer: z.string(),
  generation: z.number(),
  messageId: z.string(),
  summary: z.string(),
  answers: z.array(z.object({ asked: z.string(), answer: text, from: z.string() })),
  timeline: z.array(
    z.object({ at: z.date().nullable(), what: z.string(), by: text, text: z.string(), facts }),
  ),
}) satisfies z.ZodType<Story>

export const diff = z
  .array(z.object({ sign: z.enum([' ', '-', '+']), text: z.string() }))
  .nullable()
  .describe('Null for bodies that are not text, or too long to compare.')

const fix = z.object({
  id: z.string(),
  at: z.date(),
  by: z.string(),
  kind: z.enum(['payload', 'state']),
  because: z.string(),
  diff: diff.optional().describe('Only for people who see whole payloads.'),
}) satisfies z.ZodType<Omit<RecordedFix, 'diff'>>

const key = z.object({
  consumer: z.string(),
  key: z.string(),
  blocked: z
    .object({ since: z.date(), state: z.enum(['parked', 'released']), waiting: z.number() })
    .nullable(),
  messages: z.array(
    z.object({
      id: z.string(),
      state: z.string(),
      messageId: text,
      code: z.string(),
      reason: z.string(),
      firstAt: z.date(),
      head: z.boolean(),
    }),
  ),
  more: z.boolean(),
}) satisfies z.ZodType<KeyView>

export const payloadStart = z.object({
  as: z.enum(['text', 'hex']),
  content: text.describe('The first 64 KiB; null when nothing of it may be shown.'),
  bytes: z.number(),
  whole: z.boolean(),
})

export const messageAnswer = z.object({
  message: details,
  headers: z.unknown().describe('Null unless the person sees whole payloads.'),
  properties: z.unknown(),
  payload: payloadStart.extend({ right: z.enum(['full', 'masked', 'none']) }),
  story: story.nullable(),
  limits: z.array(z.string()).describe('What the story cannot know.'),
  fixes: z.array(fix),
  key: key.nullable(),
  schema: z.unknown().optional(),
  fixable: z.boolean().describe('The console has the contract, which decodes a new payload.'),
  command: z.string(),
})
