import { listFilters, removeFilter, saveFilter } from 'onceward/operations'
import { z } from 'zod'
import { cliCommand, searchFlags } from './cli-command.ts'
import { readSearch } from './message-routes.ts'
import type { Call, Route } from './route.ts'

const name = z.string().trim().min(1).max(100)

/** Searches of the signed-in person. They are kept in the database, and others do not see them. */
export const filterRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/filters',
    summary: 'Saved searches of the signed-in person',
    role: 'viewer',
    answer: z.object({
      filters: z.array(
        z.object({ name: z.string(), q: z.string(), at: z.date(), command: z.string().nullable() }),
      ),
    }),
    handle: async call => {
      const filters = await listFilters(call.acts)
      const shown = filters.map(async ({ name, query: q, at }) => ({
        name,
        q,
        at,
        command: await commandOf(call, q),
      }))
      return { filters: await Promise.all(shown) }
    },
  },
  {
    method: 'post',
    path: '/filters',
    summary: 'Save a search under a name',
    role: 'viewer',
    body: z.object({ name, q: z.string().max(2_000) }),
    answer: z.looseObject({}),
    handle: async (call, { body }) => {
      await readSearch(call, body.q)
      await saveFilter(call.acts, body.name, body.q)
      return { ok: true }
    },
  },
  {
    method: 'post',
    path: '/filters/remove',
    summary: 'Remove a saved search',
    role: 'viewer',
    body: z.object({ name }),
    answer: z.looseObject({ removed: z.boolean() }),
    handle: async (call, { body }) => removeFilter(call.acts, body.name),
  },
]

/** Null for a search that the person may not make any more. */
async function commandOf(call: Call, q: string): Promise<string | null> {
  try {
    return cliCommand(['parked', 'list'], searchFlags(await readSearch(call, q)))
  } catch {
    return null
  }
}
