import {
  approveCampaign,
  type Campaign,
  campaignFindings,
  campaignHistory,
  cancelCampaign,
  finishCampaign,
  listCampaigns,
  pauseCampaign,
  readCampaign,
  readProgress,
  type SqlPool,
  verifyCampaign,
} from 'onceward/operations'
import { z } from 'zod'
import { missingAs, notFound } from '../http/problem.ts'
import { withoutKeys } from '../rights/hide-keys.ts'
import { samePerson } from '../rights/person-name.ts'
import type { Reach } from '../rights/reach.ts'
import type { CampaignStep } from './campaigns.ts'
import { cliCommand } from './cli-command.ts'
import type { Call, Route } from './route.ts'

const because = z.string().min(1).max(2_000)
const campaignAnswer = z.looseObject({ id: z.string(), consumer: z.string(), state: z.string() })
const edge = z.union([
  z.enum(['first', 'next']),
  z.object({ timestampMs: z.number().int().min(0) }),
  z.object({ offsets: z.record(z.string(), z.number().int().min(0)) }),
])
const keys = z.array(z.string().min(1).max(1_000)).min(1).max(10_000).optional()

/** Files and archives are paths on the server's disk, so the browser does not name them. */
const selection = z.discriminatedUnion('of', [
  z.object({
    of: z.literal('log'),
    start: edge,
    end: edge,
    keys,
    includingSkipped: z.boolean().optional(),
  }),
  z.object({ of: z.literal('held'), states: z.array(z.string()).min(1) }),
  z.object({
    of: z.literal('parked'),
    cause: z
      .string()
      .regex(/^[0-9a-f]{12}$/)
      .optional(),
    keys,
  }),
])

export const campaignRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/campaigns',
    isLive: true,
    summary: 'Campaigns, newest first',
    role: 'viewer',
    query: z.object({
      consumer: z.string().optional(),
      open: z.enum(['true', 'false']).default('false'),
    }),
    answer: z.object({ campaigns: z.array(campaignAnswer), canRun: z.boolean() }),
    handle: async (call, { query }) => {
      const reach = await call.reach()
      const found = await listCampaigns(call.pool, {
        consumer: query.consumer,
        consumers: reach.visible,
        open: query.open === 'true',
        countMax: 200,
      })
      const canRun = [...call.contracts.keys()].some(name => call.campaigns.canRun(name))
      return { campaigns: found.map(one => shownCampaign(call, reach, one)), canRun }
    },
  },
  {
    method: 'post',
    path: '/campaigns',
    summary: 'Record a campaign; reads nothing and runs nothing',
    role: 'operator',
    act: 'replay create',
    body: z.object({
      consumer: z.string().min(1),
      mode: z.enum(['replay', 'rebuild', 'backfill', 'repair', 'forensic']),
      because,
      selection,
      effects: z.enum(['suppressed', 'requested']).default('suppressed'),
      rateMax: z.number().int().min(1).nullable().default(null),
      rebuildKeys: z.boolean().default(false),
    }),
    answer: campaignAnswer,
    handle: async (call, { body }) => {
      await call.assertAllowed(body.consumer)
      const { consumer, because: reason, ...request } = body
      return shown(
        call,
        await call.campaigns.plan(consumer, call.acts, replay => replay.create({ ...request, reason })),
      )
    },
  },
  {
    method: 'get',
    path: '/campaigns/{id}',
    isLive: true,
    summary: 'One campaign: plan, progress, outcomes, findings and acts',
    role: 'viewer',
    answer: z.looseObject({ campaign: campaignAnswer }),
    handle: async (call, { params }) => showCampaign(call, await find(call, params.id!)),
  },
  {
    method: 'post',
    path: '/campaigns/{id}/preview',
    summary: 'Determine what the campaign covers, and fix it unless it is a dry run',
    role: 'operator',
    act: 'replay preview',
    body: z.object({ dryRun: z.boolean().default(false) }),
    answer: z.looseObject({ campaign: campaignAnswer }),
    handle: async (call, { params, body }) => {
      const { id, consumer } = await find(call, params.id!)
      // Without the key of the request: a preview that is repeated looks again, and changes nothing else.
      const seen = await call.campaigns.plan(consumer, call.later, replay => replay.preview(id, body))
      const reach = await call.reach()
      const plan = call.showsKeys(reach, consumer) ? seen.plan : { ...seen.plan, keys: null }
      return { ...seen, plan, campaign: shownCampaign(call, reach, seen.campaign) }
    },
  },
  {
    method: 'post',
    path: '/campaigns/{id}/approve',
    summary: 'Approve the previewed plan of a campaign that another person created',
    role: 'approver',
    act: 'replay approve',
    body: z.object({
      planDigest: z.string().regex(/^[0-9a-f]{64}$/),
      because,
      hours: z.number().int().min(1).max(168).default(24),
    }),
    answer: campaignAnswer,
    handle: async (call, { params, body }) =>
      shown(call, await approveCampaign(call.acts, (await find(call, params.id!)).id, body)),
  },
  {
    method: 'post',
    path: '/campaigns/{id}/run',
    summary: 'Run a campaign in this console, or continue one that was paused or failed',
    role: 'operator',
    act: 'replay run',
    body: z.object({}),
    answer: z.looseObject({}),
    handle: async (call, { params }) => {
      const campaign = await find(call, params.id!)
      await call.campaigns.conduct(campaign.id, stepOf(call, campaign, 'run'))
      return { ok: true }
    },
  },
  {
    method: 'post',
    path: '/campaigns/{id}/pause',
    summary: 'Pause a campaign after its current batch',
    role: 'operator',
    act: 'replay pause',
    body: z.object({ because }),
    answer: campaignAnswer,
    handle: async (call, { params, body }) =>
      shown(call, await pauseCampaign(call.acts, (await find(call, params.id!)).id, body.because)),
  },
  {
    method: 'post',
    path: '/campaigns/{id}/cancel',
    summary: 'Cancel a campaign; applied messages stay applied',
    role: 'operator',
    act: 'replay cancel',
    body: z.object({ because }),
    answer: campaignAnswer,
    handle: async (call, { params, body }) => {
      const campaign = await find(call, params.id!)
      return shown(
        call,
        await droppingTables(call, campaign, 'cancel', pool =>
          cancelCampaign(pool, campaign.id, body.because),
        ),
      )
    },
  },
  {
    method: 'post',
    path: '/campaigns/{id}/verify',
    summary: 'Check that every range was read to its end',
    role: 'operator',
    act: 'replay verify',
    body: z.object({}),
    answer: z.looseObject({ complete: z.boolean(), held: z.number() }),
    handle: async (call, { params }) => verifyCampaign(call.acts, (await find(call, params.id!)).id),
  },
  {
    method: 'get',
    path: '/campaigns/{id}/compare',
    summary: 'Rebuild: compare the live tables with the rebuilt ones',
    role: 'operator',
    answer: z.looseObject({ tables: z.array(z.looseObject({})) }),
    handle: async (call, { params }) => {
      const campaign = await find(call, params.id!)
      const step = stepOf(call, campaign, 'compare')
      const tables = await call.campaigns.act(step, replay => replay.compare(campaign.id))
      return { tables: await shownTables(call, campaign, tables) }
    },
  },
  {
    method: 'post',
    path: '/campaigns/{id}/swap',
    summary: 'Rebuild: replace the live tables with the rebuilt ones, in one transaction',
    role: 'admin',
    act: 'replay swap',
    body: z.object({
      because,
      acceptMissing: z.boolean().default(false),
      acceptUnknown: z.boolean().default(false),
      accept: z.array(z.string()).max(100).default([]).describe('Tables whose rows may differ.'),
    }),
    answer: z.looseObject({ campaign: campaignAnswer }),
    handle: async (call, { params, body }) => {
      const campaign = await find(call, params.id!)
      const { acceptMissing, acceptUnknown, because } = body
      const accept = Object.fromEntries(body.accept.map((table: string) => [table, body.because]))
      const given = { acceptMissing, acceptUnknown, accept, because, waitMaxMs: 20_000 }
      const swapped = await call.campaigns.act(stepOf(call, campaign, 'swap', body), replay =>
        replay.swap(campaign.id, given),
      )
      const compared = await shownTables(call, campaign, swapped.compared ?? [])
      return { ...swapped, compared, campaign: await shown(call, swapped.campaign) }
    },
  },
  {
    method: 'post',
    path: '/campaigns/{id}/rollback',
    summary: 'Rebuild: restore the old tables and discard everything applied since the swap',
    role: 'admin',
    act: 'replay rollback',
    body: z.object({}),
    answer: z.looseObject({ campaign: campaignAnswer }),
    handle: async (call, { params }) => {
      const campaign = await find(call, params.id!)
      const step = stepOf(call, campaign, 'rollback')
      const undone = await call.campaigns.act(step, replay => replay.rollBack(campaign.id))
      return { ...undone, campaign: await shown(call, undone.campaign) }
    },
  },
  {
    method: 'post',
    path: '/campaigns/{id}/finish',
    summary: 'Finish a verified campaign; a rebuild drops its old tables',
    role: 'operator',
    act: 'replay finish',
    body: z.object({}),
    answer: campaignAnswer,
    handle: async (call, { params }) => {
      const campaign = await find(call, params.id!)
      return shown(
        call,
        await droppingTables(call, campaign, 'finish', pool => finishCampaign(pool, campaign.id)),
      )
    },
  },
]

async function find(call: Call, id: string): Promise<Campaign> {
  const missing = notFound(`Campaign ${id}`)
  if (!/^\d{1,18}$/.test(id)) throw missing
  const found = await readCampaign(call.pool, id).catch(missingAs(missing))
  await call.assertAllowed(found.consumer, missing)
  return found
}

const stepOf = (call: Call, { id, consumer }: Campaign, act: string, given: Given = {}): CampaignStep => ({
  consumer,
  actor: call.actor,
  command: commandOf(act, id, consumer, given),
})

/** Only a rebuild has tables to drop. */
function droppingTables<T>(
  call: Call,
  campaign: Campaign,
  act: string,
  step: (pool: SqlPool) => Promise<T>,
): Promise<T> {
  return campaign.mode === 'rebuild' && campaign.plan !== null
    ? call.campaigns.drop(stepOf(call, campaign, act), step)
    : step(call.acts)
}

async function showCampaign(call: Call, { id, consumer }: Campaign) {
  const { campaign, ...progress } = await readProgress(call.pool, id)
  const reach = await call.reach()
  const full = reach.payloadFor(consumer) === 'full'
  const findings = await campaignFindings(call.pool, id, 100)
  const shownFindings = findings.map(finding => (full ? finding : { ...finding, reason: null }))
  const conducted = call.campaigns.conducted(id)
  const allowed = actsOf(campaign)
  return {
    campaign: shownCampaign(call, reach, campaign),
    progress,
    events: await campaignHistory(call.pool, id),
    findings: call.showsKeys(reach, consumer) ? shownFindings : withoutKeys(shownFindings),
    mine: samePerson(campaign.requestedBy, call.session.identity.name),
    conducted: conducted !== undefined && !conducted.ended,
    note: conducted?.text ?? null,
    acts: allowed,
    canRun: call.campaigns.canRun(consumer),
    commands: Object.fromEntries(
      allowed.map(act => [act, commandOf(act, id, consumer, { plan: campaign.planDigest })]),
    ),
  }
}

const shown = async (call: Call, campaign: Campaign) => shownCampaign(call, await call.reach(), campaign)

/** The examples are primary keys of the business tables. */
async function shownTables<T extends { readonly examples: readonly unknown[] }>(
  call: Call,
  { consumer }: Campaign,
  tables: readonly T[],
): Promise<readonly T[]> {
  const full = (await call.reach()).payloadFor(consumer) === 'full'
  return full ? tables : tables.map(table => ({ ...table, examples: [] }))
}

/** The keys of a selection are order keys. */
function shownCampaign(call: Call, reach: Reach, campaign: Campaign): object {
  const waitsForApproval = waitsForSecond(campaign)
  if (call.showsKeys(reach, campaign.consumer)) return { ...campaign, waitsForApproval }
  const { selection, plan, ...rest } = campaign
  const hidden = { keys: selection.keys === undefined ? undefined : [] }
  return {
    ...rest,
    waitsForApproval,
    selection: { ...selection, ...hidden },
    plan: plan && { ...plan, keys: null },
  }
}

type CampaignAct =
  | 'preview'
  | 'approve'
  | 'run'
  | 'pause'
  | 'cancel'
  | 'verify'
  | 'compare'
  | 'swap'
  | 'rollback'
  | 'finish'

/** Its plan has no approval, or one that has expired. */
const lacksApproval = ({ needsApproval, approvedBy, approvalExpiresAt }: Campaign) =>
  needsApproval && (approvedBy === null || (approvalExpiresAt !== null && approvalExpiresAt < new Date()))

const waitsForSecond = (campaign: Campaign) =>
  lacksApproval(campaign) && ['previewed', 'paused', 'failed'].includes(campaign.state)

/** What the state allows. The database decides. */
function actsOf(campaign: Campaign): readonly CampaignAct[] {
  const { state, mode, held } = campaign
  const rebuild = mode === 'rebuild'
  const isOpen = !['swapped', 'finished', 'cancelled'].includes(state)
  const approved = !lacksApproval(campaign)
  const allowed: Readonly<Record<CampaignAct, boolean>> = {
    preview: state === 'created' || state === 'previewed',
    approve: waitsForSecond(campaign),
    run: approved && (['previewed', 'paused', 'failed'].includes(state) || (state === 'running' && !held)),
    pause: state === 'running',
    verify: state === 'ran' || state === 'verified',
    compare: rebuild && ['ran', 'verified'].includes(state),
    swap: rebuild && state === 'verified',
    rollback: rebuild && state === 'swapped',
    finish: state === (rebuild ? 'swapped' : 'verified'),
    cancel: isOpen,
  }
  return (Object.keys(allowed) as CampaignAct[]).filter(act => allowed[act])
}

const withContract: readonly string[] = ['preview', 'run', 'compare', 'swap', 'rollback']

/** What a person gave with an act. The page adds what is chosen there. */
interface Given {
  readonly plan?: string | null
  readonly because?: string
  readonly acceptMissing?: boolean
  readonly acceptUnknown?: boolean
  readonly accept?: readonly string[]
}

function commandOf(act: string, id: string, consumer: string, given: Given): string {
  const { plan = null, because = '…', acceptMissing, acceptUnknown, accept } = given
  const file = withContract.includes(act) ? [`${consumer}.ts`] : []
  return cliCommand(['replay', act, ...file, id], {
    consumer: ['approve', 'cancel', 'finish', 'swap', 'rollback'].includes(act) && consumer,
    plan: act === 'approve' && plan,
    'accept-missing': acceptMissing,
    'accept-unknown': acceptUnknown,
    accept,
    because: ['approve', 'pause', 'cancel', 'swap'].includes(act) && because,
  })
}
