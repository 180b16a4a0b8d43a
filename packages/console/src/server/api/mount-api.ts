import type { Context, Hono } from 'hono'
import { actingAs, isListedPerson, readConsoleLogin, recordRefusal } from 'onceward/operations'
import { currentSession } from '../auth/current-session.ts'
import type { Session } from '../auth/sessions.ts'
import { notFound, notSignedIn, Problem } from '../http/problem.ts'
import { RateLimit } from '../http/rate-limit.ts'
import type { Parts } from '../parts.ts'
import { hasRole, inScope } from '../rights/rights.ts'
import { type Call, FileAnswer, type Input, type Route } from './route.ts'
import { routes } from './routes.ts'

const bodyMax = 8_500_000

/** Every route passes here: session, CSRF token, rate, role, then the schemas of its input. */
export function mountApi(app: Hono, parts: Parts): void {
  const limit = new RateLimit(20, 100)
  for (const route of routes) {
    const path = `/api${route.path.replaceAll(/\{(\w+)\}/g, ':$1')}`
    app.on(route.method.toUpperCase(), path, async context => {
      const session = signedIn(parts, context)
      if (!limit.allows(session.csrf)) throw new Problem(429, 'too_many', 'Too many requests. Wait a moment.')
      if (route.method !== 'get') assertToken(session, context)
      try {
        await assertRole(parts, route, session)
        const input = await readInput(route, context)
        return answer(context, await route.handle(callOf(parts, session, context), input))
      } catch (error) {
        await recordIfRefused(parts, route, session, context, error)
        throw error
      }
    })
  }
  app.all('/api/*', () => {
    throw notFound('This route')
  })
}

export function signedIn(parts: Parts, context: Context): Session {
  const current = currentSession(parts, context.req.raw)
  if (current === null) throw notSignedIn()
  if (current.cookie !== null) context.header('set-cookie', current.cookie)
  return current.session
}

function assertToken(session: Session, context: Context): void {
  if (context.req.header('x-csrf-token') !== session.csrf)
    throw new Problem(
      403,
      'csrf',
      'The request has no valid CSRF token. Reload the page. Nothing was changed.',
    )
}

async function assertRole({ pool }: Parts, { role, act }: Route, session: Session): Promise<void> {
  if (role !== null && !hasRole(session.rights, role))
    throw new Problem(403, 'role', `This needs the role ${role}. Nothing was changed.`)
  if (act === undefined) return
  const { isConsole, login } = await readConsoleLogin(pool)
  if (isConsole && !(await isListedPerson(pool, session.identity.name)))
    throw new Problem(
      403,
      'not_listed',
      `${session.identity.name} is not registered in onceward.person of the database that ${login} uses. Nothing was changed.`,
    )
}

/** An act that its function refused is in the audit already; this is for acts that did not reach it. */
async function recordIfRefused(
  { pool }: Parts,
  { act }: Route,
  session: Session,
  context: Context,
  error: unknown,
): Promise<void> {
  if (act === undefined || !(error instanceof Problem) || ![403, 404].includes(error.status)) return
  const body = (await context.req.json().catch(() => ({}))) as { consumer?: unknown }
  const consumer = typeof body?.consumer === 'string' ? body.consumer : null
  const subject = Object.values(context.req.param()).join(' ')
  await recordRefusal(actingAs(pool, actorOf(session)), {
    action: act,
    consumer,
    subject,
    why: error.message,
  })
}

async function readInput(route: Route, context: Context): Promise<Input> {
  const params = context.req.param() as Record<string, string>
  const query = route.query === undefined ? {} : parsed(route.query, context.req.query())
  if (route.body === undefined) return { params, query, body: {} }
  if (Number(context.req.header('content-length') ?? 0) > bodyMax)
    throw new Problem(413, 'too_large', 'The request is too large. Nothing was changed.')
  const body = await context.req.json().catch(() => null)
  return { params, query, body: parsed(route.body, body) }
}

function parsed(schema: NonNullable<Route['body']>, value: unknown): unknown {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw new Problem(
    400,
    'input',
    `${issue!.path.join('.') || 'The input'}: ${issue!.message}. Nothing was changed.`,
  )
}

/** The person as the audit records them: name, issuer and subject. The database compares the name only. */
export function actorOf({ identity: { name, issuer, subject } }: Session): string {
  return issuer === 'link' ? `${name} (via link)` : `${name} (via ${issuer} ${subject})`
}

function callOf(parts: Parts, session: Session, context: Context): Call {
  const { pool, screens, selections, options } = parts
  const visible = async () => visibleTo(parts, session)
  return {
    session,
    pool,
    acts: actingAs(pool, actorOf(session)),
    screens,
    selections,
    contracts: new Map((options.contracts ?? []).map(contract => [contract.name, contract])),
    maskedMembers: options.maskedMembers ?? {},
    signal: context.req.raw.signal,
    visible,
    assertVisible: async consumer => {
      const names = await visible()
      if (names !== undefined && !names.includes(consumer)) throw notFound(`Consumer ${consumer}`)
    },
  }
}

/** Names of the consumers in the session's scope; undefined for all. */
export async function visibleTo(
  { screens }: Parts,
  { rights }: Session,
): Promise<readonly string[] | undefined> {
  if (rights.scope === null) return undefined
  const { status } = await screens.overview.now()
  return [...new Set(status.consumers.filter(one => inScope(rights.scope, one)).map(({ name }) => name))]
}

function answer(context: Context, value: unknown): Response {
  context.header('cache-control', 'no-store')
  if (!(value instanceof FileAnswer)) return context.json(value as object)
  return context.body(value.content, 200, {
    'content-type': value.type,
    'content-disposition': `attachment; filename="${value.name}"`,
  })
}
