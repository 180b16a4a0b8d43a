import { z } from 'zod'
import type { Route } from './route.ts'
import {
  done,
  listedRedrive,
  listedRequest,
  redriveAnswer,
  request,
  requestAct,
  selectionAnswer,
} from './schemas/acts.ts'
import { campaign, campaignAnswer } from './schemas/campaigns.ts'
import { checkAnswer, consumerAnswer, overviewAnswer, ratesAnswer } from './schemas/consumers.ts'
import { decisionsAnswer, loss } from './schemas/decisions.ts'
import { auditRow, auditVerdict, effect, effectDetail, outboxAnswer } from './schemas/effects.ts'
import { diff, message, messageAnswer, payloadStart } from './schemas/messages.ts'

const repeated = z.literal(true).optional().describe('An earlier request with this key did it.')
const text = z.string().nullable()
const commands = z.record(z.string(), z.string())
const next = text.describe('`before` of the next page; null on the last one.')
const ok = done({})

/** The whole answer of each route, as its test finds it on the running server. */
const answers: Readonly<Record<string, z.ZodType>> = {
  'get /overview': overviewAnswer,
  'get /rates': ratesAnswer,
  'get /consumers/{name}': consumerAnswer,
  'get /consumers/{name}/check': checkAnswer,
  'post /consumers/{name}/brakes/release': ok,
  'get /messages': z.object({
    rows: z.array(message),
    next,
    complete: z.boolean().describe('False when a search in payloads was stopped: ask again from `next`.'),
    command: z.string(),
  }),
  'get /messages/{id}': messageAnswer,
  'post /messages/{id}/fix': z.looseObject({
    diff,
    command: z.string(),
    approval: z
      .object({ id: z.string(), digest: z.string() })
      .nullable()
      .describe('The request that a second person approves.'),
    repeated,
  }),
  'post /messages/{id}/note-fix': ok,
  'post /selections': selectionAnswer,
  'post /selections/{id}/skip': done({ closed: z.number(), freed: z.number() }),
  'post /selections/{id}/quarantine': done({ quarantined: z.number() }),
  'post /selections/{id}/delete': requestAct,
  'post /selections/{id}/classify': done({ rows: z.number() }),
  'post /selections/{id}/redrive': z.object({ requestId: z.string(), command: z.string(), repeated }),
  'get /redrives': z.object({ redrives: z.array(listedRedrive) }),
  'get /redrives/{request}': redriveAnswer,
  'post /redrives/{request}/stop': ok,
  'post /redrives/{request}/continue': ok,
  'get /approvals': z.object({ approvals: z.array(listedRequest) }),
  'get /approvals/{id}': request.extend({ payload: payloadStart.nullable(), diff }),
  'post /approvals/{id}/approve': requestAct,
  'post /approvals/{id}/decline': requestAct,
  'post /approvals/{id}/erase': done({ closed: z.number(), freed: z.number() }),
  'get /ledger': z.object({ effects: z.array(effect) }),
  'get /ledger/{id}': effectDetail.extend({ commands }),
  'post /ledger/{id}/reconcile': effectDetail.extend({ repeated }),
  'post /ledger/{id}/retry': effectDetail.extend({ repeated }),
  'get /outbox': outboxAnswer,
  'post /outbox/{id}/drop': done({ kind: z.string(), queue: z.string(), behind: z.number() }),
  'get /decisions': decisionsAnswer,
  'post /decisions/losses/{id}/accept': loss.extend({ repeated }),
  'post /decisions/restore/{id}/accept': done({ partitionsSetBack: z.number() }),
  'post /decisions/brokers/accept': ok,
  'post /decisions/names/rename': done({ ledgerRows: z.number() }),
  'post /decisions/names/separate': ok,
  'get /audit': z.object({ rows: z.array(auditRow), next }),
  'get /audit/verify': auditVerdict,
  'get /campaigns': z.object({ campaigns: z.array(campaign), canRun: z.boolean() }),
  'get /campaigns/{id}': campaignAnswer,
  'post /campaigns': campaign.extend({ repeated }),
  'post /campaigns/{id}/preview': z.looseObject({ campaign, repeated }),
  'post /campaigns/{id}/run': ok,
  ...Object.fromEntries(
    ['approve', 'pause', 'cancel', 'finish'].map(act => [
      `post /campaigns/{id}/${act}`,
      campaign.extend({ repeated }),
    ]),
  ),
  'post /campaigns/{id}/verify': z.looseObject({ complete: z.boolean(), held: z.number(), repeated }),
  'post /filters': ok,
  'post /filters/remove': done({ removed: z.boolean() }),
}

const json = 'application/json'

/** Answers that are files. */
const files: Readonly<Record<string, Readonly<Record<string, z.ZodType | object>>>> = {
  'get /messages/export': {
    [json]: z.array(message),
    'text/csv': { type: 'string', description: 'RFC 4180; formulas begin with an apostrophe.' },
  },
  'get /messages/{id}/body': { 'application/octet-stream': { type: 'string', format: 'binary' } },
}

/** By media type: a schema of Zod, or one of JSON Schema. */
export function contentOf({ method, path, answer }: Route): Readonly<Record<string, z.ZodType | object>> {
  const name = `${method} ${path}`
  return files[name] ?? { [json]: answers[name] ?? answer }
}
