import type { Context } from 'hono'
import { type ActingPool, actingAs, recordRefusal, type SqlPool } from 'onceward/operations'
import { Problem } from '../http/problem.ts'
import { readJson } from './read-input.ts'
import type { Route } from './route.ts'

interface Refused {
  readonly route: Route
  readonly acts: ActingPool
  readonly actor: string
  readonly context: Context
  readonly error: unknown
}

/**
 * Writes an act that was refused before its function could audit it: by the console, by a check of the
 * library, or by the database's list of people.
 */
export async function recordRefused(
  pool: SqlPool,
  { route: { act }, acts, actor, context, error }: Refused,
): Promise<void> {
  if (act === undefined || acts.answered || !isRefusal(error)) return
  const body = (await readJson(context).catch(() => null)) as { consumer?: unknown } | null
  await recordRefusal(actingAs(pool, actor), {
    action: act,
    consumer: typeof body?.consumer === 'string' ? body.consumer : null,
    subject: Object.values(context.req.param()).join(' '),
    why: (error as Error).message,
  })
}

function isRefusal(error: unknown): boolean {
  if (error instanceof Problem) return [403, 404, 409].includes(error.status)
  return ['usage', '42501'].includes((error as { code?: string }).code ?? '')
}
