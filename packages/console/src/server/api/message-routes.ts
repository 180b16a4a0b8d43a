import {
  explain,
  listFixes,
  listParked,
  type ParkedRow,
  parkedCsv,
  readBody,
  type Story,
  searchPayload,
  showKey,
  showParked,
} from 'onceward/operations'
import { z } from 'zod'
import { notFound, Problem } from '../http/problem.ts'
import { withoutDigests } from '../rights/hide-digests.ts'
import { errorTexts, shownRow, without } from '../rights/hide-errors.ts'
import { hiddenKey, withoutKeys } from '../rights/hide-keys.ts'
import { maskPayload } from '../rights/mask-payload.ts'
import type { Reach } from '../rights/reach.ts'
import { most, type PayloadRight } from '../rights/rights.ts'
import { cliCommand, searchFlags } from './cli-command.ts'
import { parseSearch, type Search } from './parse-search.ts'
import { type Call, FileAnswer, type Route } from './route.ts'

const pageMax = 200
const exportMax = 10_000
const searchMs = 2_000

const row = z.looseObject({ id: z.string(), consumer: z.string(), state: z.string(), code: z.string() })
const searchQuery = z.object({
  q: z
    .string()
    .max(2_000)
    .default('')
    .describe('Qualifiers and text, such as "consumer:orders code:no_account".'),
  before: z
    .string()
    .regex(/^\d{1,18}$/)
    .optional()
    .describe('`next` of the previous page.'),
  limit: z.coerce.number().int().min(1).max(pageMax).default(50),
})

export const messageRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/messages',
    summary: 'Messages that need attention, newest first, by page',
    role: 'viewer',
    query: searchQuery,
    answer: z.object({
      rows: z.array(row),
      next: z.string().nullable(),
      complete: z.boolean(),
      command: z.string(),
    }),
    handle: async (call, { query }) => {
      const search = await readSearch(call, query.q)
      const found = await page(call, search, query.before, query.limit)
      const command = cliCommand(['parked', 'list'], { ...searchFlags(search), limit: query.limit })
      const reach = await call.reach()
      return { ...found, rows: found.rows.map(row => shown(call, reach, row)), command }
    },
  },
  {
    method: 'get',
    path: '/messages/export',
    summary: `At most ${exportMax} matching messages as JSON or CSV, without payloads`,
    role: 'viewer',
    query: z.object({
      q: z.string().max(2_000).default(''),
      format: z.enum(['json', 'csv']).default('json'),
    }),
    answer: z.array(row),
    handle: async (call, { query }) => {
      const found = await exportedRows(call, await readSearch(call, query.q))
      const reach = await call.reach()
      const rows = found.rows.map(row => shown(call, reach, row))
      const headers = { 'x-onceward-complete': String(found.complete) }
      return query.format === 'csv'
        ? new FileAnswer('messages.csv', 'text/csv; charset=utf-8', parkedCsv(rows), headers)
        : new FileAnswer('messages.json', 'application/json', JSON.stringify(rows, null, 2), headers)
    },
  },
  {
    method: 'get',
    path: '/messages/{id}',
    summary: 'One message: facts, payload, timeline, and its key',
    role: 'viewer',
    answer: z.looseObject({ message: z.looseObject({}), story: z.looseObject({}).nullable() }),
    handle: async (call, { params }) => showMessage(call, params.id!),
  },
  {
    method: 'get',
    path: '/messages/{id}/body',
    summary: 'The whole payload as a file',
    role: 'viewer',
    answer: z.string(),
    handle: async (call, { params }) => {
      const { consumer } = await findMessage(call, params.id!)
      assertFull((await call.reach()).payloadFor(consumer))
      const body = new Uint8Array(await readBody(call.pool, params.id!))
      return new FileAnswer(`message-${params.id}.bin`, 'application/octet-stream', body)
    },
  },
]

const shown = (call: Call, reach: Reach, row: ParkedRow) =>
  shownRow(row, reach.payloadFor(row.consumer), call.showsKeys(reach, row.consumer))

/**
 * A search on payloads or keys would show what they contain, so it needs the right to see them. `of`: the
 * consumer whose messages it is about.
 */
export async function readSearch(call: Call, q: string, of?: string): Promise<Search> {
  const search = parseSearch(q, new Date())
  const consumer = of ?? search.filter.consumer
  const reach = await call.reach()
  const right =
    consumer === undefined
      ? most(call.session.rights.map(({ payload }) => payload))
      : reach.payloadFor(consumer)
  if (search.readsPayload) assertFull(right)
  const seesKeys = consumer === undefined ? right === 'full' : call.showsKeys(reach, consumer)
  if (readsKeys(search) && !seesKeys)
    throw new Problem(
      403,
      'payload',
      'Your role does not show the keys of these messages, so it cannot search for them. Name a consumer whose keys you see.',
    )
  return search
}

const readsKeys = ({ filter }: Search) => filter.key !== undefined || filter.businessKey !== undefined

export function assertFull(right: PayloadRight): void {
  if (right !== 'full')
    throw new Problem(
      403,
      'payload',
      'Your role does not show whole payloads, so it cannot search or download them.',
    )
}

async function page(call: Call, search: Search, before: string | undefined, limit: number) {
  const { visible, readable } = await call.reach()
  const isGuess = search.readsPayload || (readsKeys(search) && search.filter.consumer === undefined)
  const consumers = isGuess ? readable : visible
  const filter = { ...search.filter, consumers, before, newestFirst: true }
  if (search.readsPayload) {
    const limits = { timeoutMs: searchMs, nowMs: () => performance.now(), signal: call.signal }
    return searchPayload(call.pool, { ...filter, countMax: limit }, search.members, limits)
  }
  const rows = await listParked(call.pool, { ...filter, countMax: limit + 1 })
  const shown = rows.slice(0, limit)
  return { rows: shown, next: rows.length > limit ? shown.at(-1)!.id : null, complete: true }
}

/** Not complete: there are more rows than an export has, or a search in payloads took too long. */
async function exportedRows(call: Call, search: Search) {
  const rows: ParkedRow[] = []
  let before: string | undefined
  while (rows.length < exportMax) {
    const found = await page(call, search, before, Math.min(1_000, exportMax - rows.length))
    rows.push(...found.rows)
    if (found.next === null || !found.complete) return { rows, complete: found.complete }
    before = found.next
  }
  return { rows, complete: false }
}

export const messageGone = (id: string) => notFound(`Message ${id} is not held any more: it`)

export async function findMessage(call: Call, id: string): Promise<ParkedRow> {
  if (!/^\d{1,18}$/.test(id)) throw notFound(`Message ${id}`)
  const [found] = await listParked(call.pool, { ids: [id], countMax: 1 })
  if (found === undefined) throw messageGone(id)
  await call.assertAllowed(found.consumer, messageGone(id))
  return found
}

/** The broker's key may be any value of the payload: its producer chose it. */
function withoutBrokerKey<T extends { readonly brokerKey: string | null }>(message: T): T {
  return { ...message, brokerKey: message.brokerKey && hiddenKey }
}

/** So may the key of an external call: its handler chose it. */
function withoutCallKeys(story: Story | null): Story | null {
  const shown = (one: Story['timeline'][number]) => (one.what === 'external call' ? withoutKeys(one) : one)
  return story && { ...story, timeline: story.timeline.map(shown) }
}

async function showMessage(call: Call, id: string) {
  const row = await findMessage(call, id)
  const { body, headers, properties, ...message } = await showParked(call.pool, id)
  const reach = await call.reach()
  const payload = reach.payloadFor(row.consumer)
  const keys = <T>(value: T) => (call.showsKeys(reach, row.consumer) ? value : withoutKeys(value))
  const full = payload === 'full'
  const asked = { by: 'message' as const, id: row.messageId ?? '' }
  const explained =
    row.messageId === null ? null : await explain(call.pool, asked, { consumer: row.consumer })
  const story = explained?.stories.find(one => one.generation === row.generation) ?? null
  const hidden = full ? [] : errorTexts(message, story)
  const digests = <T>(value: T) => (full ? value : withoutDigests(value))
  const key = row.key === null ? null : await showKey(call.pool, row.consumer, row.key)
  const { message: facts, story: shownStory } = keys({
    message: digests(without(full ? message : withoutBrokerKey(message), hidden)),
    story: digests(without(full ? story : withoutCallKeys(story), hidden)),
  })
  return {
    message: facts,
    headers: full ? headers : null,
    properties: full ? properties : null,
    payload: shownPayload(body, payload, call.maskedMembers(row.consumer)),
    story: shownStory,
    limits: explained?.limits ?? [],
    fixes: digests(await fixesOf(call, id, full)),
    key:
      key &&
      keys(digests({ ...key, messages: key.messages.map(one => (full ? one : { ...one, reason: '' })) })),
    fixable: call.contracts.has(row.consumer),
    schema: full ? jsonSchemaOf(call.contracts.get(row.consumer)?.message.schema) : null,
    command: cliCommand(['parked', 'show', id], {}),
  }
}

/** What a fix changed is shown to those who see whole payloads. */
async function fixesOf(call: Call, id: string, full: boolean) {
  const fixes = await listFixes(call.pool, id)
  return full ? fixes : fixes.map(({ diff: _, ...fix }) => fix)
}

/** Of schemas that describe themselves (Standard JSON Schema); null for others. */
function jsonSchemaOf(schema: unknown): unknown {
  type Capable = { '~standard'?: { jsonSchema?: { input?: (options: { target: string }) => unknown } } }
  try {
    return (schema as Capable)?.['~standard']?.jsonSchema?.input?.({ target: 'draft-2020-12' }) ?? null
  } catch {
    // It has a part that JSON Schema cannot express.
    return null
  }
}

function shownPayload(
  body: Awaited<ReturnType<typeof showParked>>['body'],
  right: PayloadRight,
  members: readonly string[] | undefined,
) {
  if (right === 'full') return { right, ...body }
  const { bytes, whole } = body
  const masked = right === 'masked' && body.as === 'text' && whole ? maskPayload(body.content, members) : null
  return { right, as: 'text' as const, content: masked, bytes, whole }
}
