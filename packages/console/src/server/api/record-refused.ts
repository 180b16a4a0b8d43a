import type { Context } from 'hono'
import { type ActingPool, actingAs, type RefusedAct, recordRefusal } from 'onceward/operations'
import { forgedName } from '../auth/proxy-identity.ts'
import { clientAddress } from '../http/client-address.ts'
import { TooMany } from '../http/limits.ts'
import { Problem } from '../http/problem.ts'
import { RateLimit } from '../http/rate-limit.ts'
import type { Parts } from '../parts.ts'
import { actorOf } from '../rights/person-name.ts'
import type { Identity } from '../rights/rights.ts'
import { readJson } from './read-input.ts'
import type { Route } from './route.ts'

interface Refused {
  readonly route: Route
  readonly acts: ActingPool | undefined
  /** Undefined if no person was recognised, or if they ask too often. */
  readonly identity: Identity | undefined
  readonly context: Context
  readonly error: unknown
}

/** A flood of refusals must not fill the audit, whose rows are kept. What is left out is counted. */
export class RefusalLimit {
  readonly #limit = new RateLimit(0.1, 100)
  readonly #missed = new Map<string, number>()

  /** A note on what was left out before; null to leave this one out too. */
  take(key: string): string | null {
    const missed = this.#missed.get(key) ?? 0
    if (!this.#limit.allows(key)) {
      if (this.#missed.size > 1_000) this.#missed.clear()
      this.#missed.set(key, missed + 1)
      return null
    }
    this.#missed.delete(key)
    return missed === 0 ? '' : ` ${missed} more before it were not recorded.`
  }
}

/**
 * Writes an act that was refused before its function could audit it: by the console, by a check of the
 * library, or by the database's list of people. And a request that came past the proxy under a name.
 */
export async function recordRefused(parts: Parts, refused: Refused): Promise<void> {
  const { route, acts, context, error } = refused
  const identity = refused.identity ?? (error instanceof TooMany ? error.identity : null)
  if (identity === null) return recordForged(parts, context)
  if (route.act === undefined || acts?.answered === true || !isRefusal(error)) return
  const actor = actorOf(identity)
  const kind = error instanceof Problem ? error.status : 'refused'
  await record(parts, { actor, kind }, async () => ({
    action: route.act!,
    consumer: await consumerOf(context, error),
    subject: Object.values(context.req.param()).join(' '),
    why: (error as Error).message,
  }))
}

async function recordForged(parts: Parts, context: Context): Promise<void> {
  const { auth } = parts.options
  const name = auth.kind === 'proxy' ? forgedName(auth, context.req.raw.headers) : null
  if (name === null) return
  const address = clientAddress(auth, context.req.raw.headers, context.env)
  await record(parts, { actor: '', kind: 'forged' }, async () => ({
    action: 'sign-in',
    consumer: null,
    subject: context.req.path,
    why: `A request named ${JSON.stringify(name.slice(0, 200))} without the secret of the proxy, from ${address}. Nothing was changed.`,
  })).catch(() => {})
}

/** Refusals of one kind do not use up the room of another. */
async function record(
  parts: Parts,
  { actor, kind }: { readonly actor: string; readonly kind: string | number },
  found: () => Promise<RefusedAct>,
): Promise<void> {
  const note = parts.refusals.take(`${kind} ${actor}`)
  if (note === null) return
  const { why, ...refusal } = await found()
  await recordRefusal(actingAs(parts.pool, actor), { ...refusal, why: why + note })
}

/** Of a body that was read: one that is too large, or comes too fast, is not. */
async function consumerOf(context: Context, error: unknown): Promise<string | null> {
  if (error instanceof Problem && [413, 429].includes(error.status)) return null
  const body = (await readJson(context).catch(() => null)) as { consumer?: unknown } | null
  return typeof body?.consumer === 'string' ? body.consumer : null
}

/** Not one that the database left open, and not one of a session that has ended. */
function isRefusal(error: unknown): boolean {
  if (error instanceof Problem) return ![401, 503].includes(error.status)
  return ['usage', '42501'].includes((error as { code?: string }).code ?? '')
}
