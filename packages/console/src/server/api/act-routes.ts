import {
  classifyParked,
  fixPayload,
  noteStateFixed,
  previewParked,
  quarantineParked,
  requestDeletion,
  searchPayload,
  skipParked,
} from 'onceward/operations'
import { z } from 'zod'
import { Problem } from '../http/problem.ts'
import { shownRow } from '../rights/hide-errors.ts'
import { cliCommand, searchFlags } from './cli-command.ts'
import { assertFull, findMessage, messageGone, readSearch } from './message-routes.ts'
import type { Call, Route } from './route.ts'
import { type FrozenSelection, selectionGone } from './selections.ts'

const because = z.string().min(1).max(2_000).describe('Recorded in the audit.')
const selectionMax = 100_000
const number = /^\d{1,18}$/

/** The rights of the person may have changed since the selection was frozen. */
export async function selectionOf(call: Call, id: string): Promise<FrozenSelection> {
  const found = call.selections.find(id, call.session.identity.name)
  await call.assertAllowed(found.consumer, selectionGone())
  return found
}

/** Flags of the CLI for the same rows: ids when they are few, else the filter with its digest. */
export function sameRows({ ids, digest, consumer, flags, byIds }: FrozenSelection) {
  const few = byIds || ids.length <= 20
  return {
    words: few ? ids : [],
    flags: few ? { consumer } : { ...flags, consumer, limit: ids.length, expect: digest },
  }
}

export const actRoutes: readonly Route[] = [
  {
    method: 'post',
    path: '/selections',
    summary: 'Freeze the exact messages of a search or of ids, and preview them',
    role: 'operator',
    body: z.object({
      consumer: z.string().min(1),
      q: z.string().max(2_000).optional(),
      ids: z.array(z.string().regex(number)).min(1).max(1_000).optional(),
      limit: z.number().int().min(1).max(selectionMax).default(selectionMax),
    }),
    answer: z.looseObject({ id: z.string(), count: z.number(), digest: z.string(), more: z.boolean() }),
    handle: async (call, { body }) => freeze(call, body),
  },
  {
    method: 'post',
    path: '/selections/{id}/skip',
    summary: 'Skip the messages of a selection',
    role: 'operator',
    act: 'parked skip',
    body: z.object({ because }),
    answer: z.looseObject({ closed: z.number(), freed: z.number() }),
    handle: async (call, { params, body }) =>
      skipParked(call.acts, { ...(await selectionOf(call, params.id!)), because: body.because }),
  },
  {
    method: 'post',
    path: '/selections/{id}/quarantine',
    summary: 'Set the messages of a selection aside: redrives of parked messages leave them out',
    role: 'operator',
    act: 'parked quarantine',
    body: z.object({ because }),
    answer: z.looseObject({ quarantined: z.number() }),
    handle: async (call, { params, body }) =>
      quarantineParked(call.acts, { ...(await selectionOf(call, params.id!)), because: body.because }),
  },
  {
    method: 'post',
    path: '/selections/{id}/delete',
    summary: 'Request the deletion of the messages of a selection; a second person approves it',
    role: 'operator',
    act: 'parked delete',
    body: z.object({ because, hours: z.number().int().min(1).max(168).default(24) }),
    answer: z.looseObject({ id: z.string() }),
    handle: async (call, { params, body }) =>
      requestDeletion(
        call.acts,
        { ...(await selectionOf(call, params.id!)), because: body.because },
        body.hours * 3_600,
      ),
  },
  {
    method: 'post',
    path: '/selections/{id}/classify',
    summary: 'Set label, assignee and note of the messages of a selection',
    role: 'operator',
    act: 'parked classify',
    body: z.object({
      label: z.string().max(200).optional(),
      assignee: z.string().max(200).optional(),
      note: z.string().max(2_000).optional(),
    }),
    answer: z.looseObject({ rows: z.number() }),
    handle: async (call, { params, body }) => {
      const { consumer, ids } = await selectionOf(call, params.id!)
      return classifyParked(call.acts, { consumer, ids, ...body })
    },
  },
  {
    method: 'post',
    path: '/messages/{id}/fix',
    summary: 'Replace the payload of a message, or show the difference',
    role: 'operator',
    act: 'parked fix',
    body: z.object({
      consumer: z.string(),
      payload: z.string().max(8_000_000),
      because: z.string().max(2_000),
      dryRun: z.boolean(),
    }),
    answer: z.looseObject({ diff: z.array(z.looseObject({})).nullable(), command: z.string() }),
    handle: async (call, { params, body }) => {
      assertNumber(params.id!)
      await assertHeldBy(call, params.id!, body.consumer)
      const contract = call.contracts.get(body.consumer)
      if ((await call.reach()).payloadFor(body.consumer) !== 'full')
        throw new Problem(403, 'payload', 'Your role does not show payloads, so it cannot replace them.')
      if (contract === undefined)
        throw new Problem(
          409,
          'no_contract',
          `The console was started without the contract of ${body.consumer}, which must decode the new payload. Start it with --contract, or use the command line. Nothing was changed.`,
        )
      const { dryRun, because: why } = body
      const fixed = await fixPayload(call.acts, contract as never, {
        id: params.id!,
        body: Buffer.from(body.payload),
        because: why,
        dryRun,
      })
      const command = cliCommand(['parked', 'fix', params.id!], {
        consumer: body.consumer,
        payload: 'new.json',
        contract: `${body.consumer}.ts`,
        because: why,
      })
      return { ...fixed, command }
    },
  },
  {
    method: 'post',
    path: '/messages/{id}/note-fix',
    summary: 'Record that the cause was fixed elsewhere',
    role: 'operator',
    act: 'parked fix',
    body: z.object({ consumer: z.string(), because }),
    answer: z.looseObject({}),
    handle: async (call, { params, body }) => {
      assertNumber(params.id!)
      await assertHeldBy(call, params.id!, body.consumer)
      await noteStateFixed(call.acts, { id: params.id!, consumer: body.consumer, because: body.because })
      return { ok: true }
    },
  },
]

export function assertNumber(id: string): void {
  if (!number.test(id)) throw new Problem(400, 'usage', 'The id is not a number. Nothing was changed.')
}

/** The named consumer is the one whose rights count, so the message must be its own. */
async function assertHeldBy(call: Call, id: string, consumer: string): Promise<void> {
  await call.assertAllowed(consumer)
  if ((await findMessage(call, id)).consumer !== consumer) throw messageGone(id)
}

async function freeze(call: Call, body: { consumer: string; q?: string; ids?: string[]; limit: number }) {
  const { consumer } = body
  await call.assertAllowed(consumer)
  const search = await readSearch(call, body.q ?? '', consumer)
  if (search.filter.consumer !== undefined && search.filter.consumer !== consumer)
    throw new Problem(
      400,
      'usage',
      'An act is on the messages of one consumer: add it to the search. Nothing was changed.',
    )
  const reach = await call.reach()
  const payload = reach.payloadFor(consumer)
  if (search.readsPayload) assertFull(payload)
  const filter = { ...search.filter, ...(body.ids && { ids: body.ids }), consumer, countMax: body.limit }
  const ids = search.readsPayload ? await searchedIds(call, filter, search.members) : undefined
  const preview = await previewParked(
    call.pool,
    ids === undefined ? filter : { ids: [...ids], consumer, countMax: body.limit },
  )
  const { rows, digest, more, behind } = preview
  if (rows.length === 0) throw new Problem(409, 'nothing_selected', 'No messages match. Nothing was changed.')
  if (body.ids !== undefined && rows.length < body.ids.length)
    throw new Problem(
      409,
      'selection_changed',
      'Some of these messages are not held any more. Select again. Nothing was changed.',
    )
  const frozen = call.selections.freeze({
    person: call.session.identity.name,
    consumer,
    ids: rows.map(({ id }) => id),
    digest,
    flags: searchFlags(search),
    byIds: body.ids !== undefined || search.members.length > 0 || search.filter.ids !== undefined,
  })
  const { words, flags } = sameRows(frozen)
  const command = (verb: string) => cliCommand(['parked', verb, ...words], { ...flags, because: '…' })
  return {
    id: frozen.id,
    consumer,
    count: rows.length,
    digest,
    more,
    behind: behind.reduce((sum, { count }) => sum + count, 0),
    keys: behind.length,
    waitsForApproval: rows.filter(({ fixWaits }) => fixWaits !== null).length,
    sample: rows.slice(0, 20).map(row => shownRow(row, payload, call.showsKeys(reach, consumer))),
    commands: {
      ...Object.fromEntries(
        ['redrive', 'skip', 'quarantine', 'delete'].map(verb => [verb, command(verb)] as const),
      ),
      classify: classifyCommand(frozen),
    },
  }
}

/** Its options set label and assignee, so they cannot select by them: many ids come from a list. */
export function classifyCommand(frozen: FrozenSelection): string {
  const { words, flags } = sameRows(frozen)
  if (words.length > 0) return cliCommand(['parked', 'classify', ...words], flags)
  const { expect: _, ...filter } = flags as Readonly<Record<string, unknown>>
  const list = cliCommand(['parked', 'list'], { ...filter, ids: true })
  return `${list} | ${cliCommand(['parked', 'classify'], { 'ids-from': '-', consumer: frozen.consumer })}`
}

const freezeMs = 10_000

/** The rows of a search in payloads, which must reach its end: an act is on all of them. */
async function searchedIds(
  call: Call,
  filter: Parameters<typeof searchPayload>[1],
  members: Parameters<typeof searchPayload>[2],
) {
  const { signal } = call
  const found = await searchPayload(call.pool, filter, members, {
    timeoutMs: freezeMs,
    nowMs: () => performance.now(),
    signal,
  })
  if (!found.complete)
    throw new Problem(
      409,
      'search_too_long',
      'The search took longer than 10 s. Narrow it, for example by since:. Nothing was changed.',
    )
  return found.rows.map(({ id }) => id)
}
