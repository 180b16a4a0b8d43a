import {
  explain,
  listParked,
  type ParkedRow,
  readBody,
  searchMember,
  showKey,
  showParked,
} from 'onceward/operations'
import { z } from 'zod'
import { notFound, Problem } from '../http/problem.ts'
import { maskPayload } from '../rights/mask-payload.ts'
import { cliCommand, searchFlags } from './cli-command.ts'
import { exportCsv } from './export-csv.ts'
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
      const search = readSearch(call, query.q)
      const found = await page(call, search, query.before, query.limit)
      const command = cliCommand(['parked', 'list'], { ...searchFlags(search), limit: query.limit })
      return { ...found, command }
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
      const rows: ParkedRow[] = []
      const search = readSearch(call, query.q)
      for (let before: string | undefined; rows.length < exportMax; ) {
        const found = await page(call, search, before, 1_000)
        rows.push(...found.rows)
        if (found.next === null) break
        before = found.next
      }
      return query.format === 'csv'
        ? new FileAnswer('messages.csv', 'text/csv; charset=utf-8', exportCsv(rows))
        : new FileAnswer('messages.json', 'application/json', JSON.stringify(rows, null, 2))
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
      assertPayload(call)
      const { consumer } = await find(call, params.id!)
      await call.assertVisible(consumer)
      const body = new Uint8Array(await readBody(call.pool, params.id!))
      return new FileAnswer(`message-${params.id}.bin`, 'application/octet-stream', body)
    },
  },
]

/** A search on payloads would show what they contain, so it needs the right to see them. */
export function readSearch(call: Call, q: string): Search {
  const search = parseSearch(q, new Date())
  if (search.readsPayload) assertPayload(call)
  return search
}

function assertPayload({ session }: Call): void {
  if (session.rights.payload !== 'full')
    throw new Problem(
      403,
      'payload',
      'Your role does not show whole payloads, so it cannot search or download them.',
    )
}

async function page(call: Call, search: Search, before: string | undefined, limit: number) {
  const consumers = await call.visible()
  const filter = { ...search.filter, consumers, before, newestFirst: true }
  if (search.member !== null) {
    const end = Date.now() + searchMs
    const isOver = () => Date.now() > end || call.signal.aborted
    const found = await searchMember(call.pool, { ...filter, countMax: limit }, search.member, isOver)
    return { rows: found.rows, next: found.last, complete: found.complete }
  }
  const rows = await listParked(call.pool, { ...filter, countMax: limit + 1 })
  const shown = rows.slice(0, limit)
  return { rows: shown, next: rows.length > limit ? shown.at(-1)!.id : null, complete: true }
}

async function find(call: Call, id: string): Promise<ParkedRow> {
  if (!/^\d{1,18}$/.test(id)) throw notFound(`Message ${id}`)
  const [found] = await listParked(call.pool, { ids: [id], countMax: 1 })
  if (found === undefined) throw notFound(`Message ${id} is not held any more: it`)
  return found
}

async function showMessage(call: Call, id: string) {
  const row = await find(call, id)
  await call.assertVisible(row.consumer)
  const { body, headers, properties, ...message } = await showParked(call.pool, id)
  const { payload } = call.session.rights
  const full = payload === 'full'
  const asked = { by: 'message' as const, id: row.messageId ?? '' }
  const explained =
    row.messageId === null ? null : await explain(call.pool, asked, { consumer: row.consumer })
  const story = explained?.stories.find(one => one.generation === row.generation) ?? null
  return {
    message,
    headers: full ? headers : null,
    properties: full ? properties : null,
    payload: shownPayload(body, payload, call.maskedMembers[row.consumer]),
    story,
    limits: explained?.limits ?? [],
    key: row.key === null ? null : await showKey(call.pool, row.consumer, row.key),
    fixable: call.contracts.has(row.consumer),
    command: cliCommand(['parked', 'show', id], {}),
  }
}

function shownPayload(
  body: Awaited<ReturnType<typeof showParked>>['body'],
  right: 'full' | 'masked' | 'none',
  members: readonly string[] | undefined,
) {
  if (right === 'full') return { right, ...body }
  const { bytes, whole } = body
  const masked = right === 'masked' && body.as === 'text' && whole ? maskPayload(body.content, members) : null
  return { right, as: 'text' as const, content: masked, bytes, whole }
}
