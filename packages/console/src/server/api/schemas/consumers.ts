import type { BlockedKeyRow, RunRow } from 'onceward/operations'
import { z } from 'zod'
import { redriveSummary } from './acts.ts'
import { outboxQueue } from './effects.ts'
import { group } from './messages.ts'

const text = z.string().nullable()
const number = z.number().nullable()
const counts = z.array(number).describe('One per minute of the last hour, oldest first; null: no sample.')

const generation = {
  name: z.string(),
  generation: z.number(),
  owner: z.string(),
  risk: z.string(),
  openRuns: z.number(),
  silentRuns: z.number(),
  pausedBecause: text,
  pausedSeconds: number,
  pending: z.number(),
  oldestPendingSeconds: number,
  parked: z.number(),
  dead: z.number(),
  quarantined: z.number(),
}

const flow = {
  rate: z.object({ perSecond: number, applied: counts }),
  lag: z.object({ messages: number, oldestSeconds: number }),
  halted: z.object({ reason: z.string(), at: z.date() }).nullable(),
  brakes: z.array(
    z.object({
      consumer: z.string(),
      generation: z.number(),
      type: z.string(),
      cause: z.string(),
      messages: z.number(),
      version: z.string(),
      since: z.string(),
    }),
  ),
  objectives: z
    .array(
      z.object({
        name: z.string(),
        limit: z.number(),
        actual: number,
        unit: z.enum(['s', 'messages', 'share']),
        burnt: z.boolean(),
      }),
    )
    .describe('Empty without the contract.'),
}
const effects = z.array(
  z.object({ consumer: z.string(), target: z.string(), state: z.string(), count: z.number() }),
)

export const overviewAnswer = z.object({
  at: z.date(),
  schemaVersion: number,
  attention: z
    .array(
      z.object({
        severity: z.enum(['critical', 'warning']),
        consumer: text,
        text: z.string(),
        page: z.string(),
      }),
    )
    .describe('What needs attention, the most urgent first.'),
  consumers: z.array(
    z.object({
      ...generation,
      ...flow,
      alerts: z.number(),
      sources: z.array(z.object({ kind: z.string(), place: z.string() })),
      partitions: z.number(),
      queued: z.number(),
      effects,
    }),
  ),
  groups: z.array(group),
  approvals: z.number().describe('Requests that wait for a second person.'),
  redrives: z.array(redriveSummary),
  outbox: z.array(outboxQueue).describe('Empty for people whose rights have a scope.'),
})

export const alert = z.object({
  name: z.string(),
  severity: z.enum(['critical', 'warning', 'info']),
  summary: z.string(),
  runbook: z.string(),
})

export const reader = z.object({
  consumer: z.string(),
  kind: z.string(),
  place: z.string(),
  reader: z.string(),
  virtualHost: text,
  lastAt: z.date(),
})

const run = z.object({
  id: z.number(),
  generation: z.number(),
  instance: z.string(),
  mode: z.string(),
  campaign: text,
  handlerVersion: z.string(),
  startedAt: z.date(),
  heartbeatAt: z.date(),
  alive: z.boolean(),
  pausedBecause: text,
  haltedReason: text,
  endedAt: z.date().nullable(),
}) satisfies z.ZodType<RunRow>

const blockedKey = z.object({
  key: z.string(),
  generation: z.number(),
  since: z.date(),
  state: z.enum(['parked', 'released']),
  waiting: z.number(),
  head: text,
  headCode: text,
}) satisfies z.ZodType<BlockedKeyRow>

export const consumerAnswer = z.object({
  name: z.string(),
  ...flow,
  generations: z.array(z.object(generation)),
  readers: z.array(reader),
  runs: z.array(run),
  partitions: z.array(
    z.object({
      consumer: z.string(),
      partition: z.string(),
      epoch: z.number(),
      next: text,
      owner: z.string(),
      secondsAgo: z.number(),
      lag: number,
      alive: z.boolean(),
    }),
  ),
  blockedKeys: z.array(blockedKey),
  blockedKeysMore: z.boolean(),
  alerts: z.array(alert),
  effects,
  unserved: z.array(z.looseObject({ consumer: z.string(), waiting: z.number() })),
  retention: z.array(z.looseObject({ consumer: z.string(), kind: z.string(), keepMs: z.number() })),
  horizons: z.array(
    z.object({
      consumer: z.string(),
      generation: z.number(),
      purgedBefore: z.date(),
      purgedCount: z.number(),
    }),
  ),
  groups: z.array(group),
  contract: text.describe('Its page in Markdown; null without the contract.'),
})

export const ratesAnswer = z.object({
  stepSeconds: z.number(),
  from: z.date(),
  consumers: z.array(
    z.object({
      name: z.string(),
      perSecond: number,
      applied: counts,
      duplicates: counts,
      setAside: counts,
      failed: counts,
      lag: counts,
      pending: counts,
    }),
  ),
})

export const checkAnswer = z.object({
  at: z.date(),
  contracts: z.number(),
  live: z.boolean(),
  waived: z.number(),
  counts: z.record(z.string(), z.number()),
  findings: z.array(
    z.looseObject({
      id: z.string(),
      severity: z.enum(['error', 'warning', 'note']),
      title: z.string(),
      consumer: text,
      found: z.string(),
      fix: z.string(),
      link: z.string(),
    }),
  ),
})
