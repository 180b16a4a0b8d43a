import type { Context, Hono } from 'hono'
import { type ActingPool, actingAs, isListedPerson, readConsoleLogin } from 'onceward/operations'
import { currentSession } from '../auth/current-session.ts'
import type { Session } from '../auth/sessions.ts'
import { isAway } from '../http/answer-error.ts'
import { clientAddress } from '../http/client-address.ts'
import { assertOrigin } from '../http/origins.ts'
import { notFound, notSignedIn, Problem } from '../http/problem.ts'
import type { Parts } from '../parts.ts'
import { showsKeys } from '../rights/hide-keys.ts'
import { actorOf } from '../rights/person-name.ts'
import { Reach } from '../rights/reach.ts'
import { hasRole, type Role } from '../rights/rights.ts'
import { readInput } from './read-input.ts'
import { recordRefused } from './record-refused.ts'
import { type Call, FileAnswer, type Route } from './route.ts'
import { routes } from './routes.ts'

/** Every route passes here: session, rate, origin, CSRF token, role, then the schemas of its input. */
export function mountApi(app: Hono, parts: Parts): void {
  for (const route of routes) {
    const path = `/api${route.path.replaceAll(/\{(\w+)\}/g, ':$1')}`
    app.on(route.method.toUpperCase(), path, async context => {
      let session: Session | undefined
      let acts: ActingPool | undefined
      try {
        session = signedIn(parts, context)
        acts = actsOf(parts, route, session, context)
        assertOrigin(parts.options.auth, context.req.raw)
        if (route.method !== 'get') assertToken(session, context)
        await assertRole(parts, route, session)
        const input = await readInput(route, context)
        const value = await route.handle(callOf(parts, route, session, acts, context), input)
        if (route.method !== 'get') parts.screens.reads.forget()
        return answer(context, acts.repeated ? { ...(value as object), repeated: true } : value)
      } catch (error) {
        await recordRefused(parts, { route, acts, identity: session?.identity, context, error })
        throw route.act !== undefined && isAway(error) ? unknownOutcome(context) : error
      }
    })
  }
  app.all('/api/*', () => {
    throw notFound('This route')
  })
}

/** `isLive`: a stream that an open page keeps is not a sign of its person. */
export function signedIn(parts: Parts, context: Context, isLive = false): Session {
  const current = currentSession(parts, context.req.raw, isLive)
  if (current === null) {
    parts.limits.assertStranger(clientAddress(parts.options.auth, context.req.raw.headers, context.env))
    throw notSignedIn()
  }
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
  if (role !== null && !session.rights.some(right => hasRole(right, role))) throw lacks(role)
  if (act === undefined) return
  const { isConsole, login } = await readConsoleLogin(pool)
  if (isConsole && !(await isListedPerson(pool, session.identity.name)))
    throw new Problem(
      403,
      'not_listed',
      `${session.identity.name} is not registered in onceward.person of the database that ${login} uses. Nothing was changed.`,
    )
}

const lacks = (role: Role, where = '') =>
  new Problem(403, 'role', `This needs the role ${role}${where}. Nothing was changed.`)

const keyHeader = 'idempotency-key'

/** The key that the page made for this act; undefined without one. */
function keyOf(context: Context): string | undefined {
  const key = context.req.header(keyHeader)
  if (key === undefined || /^[\w.:-]{8,80}$/.test(key)) return key
  throw new Problem(
    400,
    'input',
    `${keyHeader} has 8 to 80 letters, digits and characters of _ . : -. Nothing was changed.`,
  )
}

/** The acts of one request. Its key is for this act on this subject. */
export function actsOf({ pool }: Parts, { act }: Route, session: Session, context: Context): ActingPool {
  const key = keyOf(context)
  const action = [act, ...Object.values(context.req.param())].join(' ')
  const isKeyed = act !== undefined && key !== undefined
  return actingAs(pool, actorOf(session.identity), isKeyed ? { key, action } : undefined)
}

/** After a lost connection it is not known whether the transaction was committed. */
function unknownOutcome(context: Context): Problem {
  const next =
    keyOf(context) === undefined
      ? 'It is not known whether this was done: look before you repeat it.'
      : 'Repeat the request under the same key: it is done once.'
  return new Problem(503, 'database_unavailable', `The database does not answer. ${next}`)
}

export function callOf(
  parts: Parts,
  route: Route,
  session: Session,
  acts: ActingPool,
  context: Context,
): Call {
  const { pool, screens, selections, campaigns, options } = parts
  const reach = async () => reachOf(parts, session)
  const role = route.role ?? 'viewer'
  const actor = actorOf(session.identity)
  return {
    session,
    actor,
    pool,
    acts,
    later: actingAs(pool, actor),
    key: keyOf(context),
    screens,
    selections,
    campaigns,
    database: options.database,
    contracts: parts.contracts,
    maskedMembers: consumer => maskedMembers(parts, consumer),
    showsKeys: (reached, consumer) =>
      showsKeys(
        reached.payloadFor(consumer),
        parts.contracts.get(consumer)?.identity,
        maskedMembers(parts, consumer),
      ),
    signal: context.req.raw.signal,
    headline: options.headline,
    reach,
    visible: async () => (await reach()).visible,
    assertAllowed: async (consumer, missing = notFound(`Consumer ${consumer}`)) => {
      const reached = await reach()
      if (!reached.sees(consumer)) throw missing
      if (!reached.mayAct(role, consumer)) throw lacks(role, ` for ${consumer}`)
    },
    assertUnscoped: async () => {
      const reached = await reach()
      if (reached.visible !== undefined)
        throw new Problem(403, 'scope', 'This page is for people whose rights cover every consumer.')
      if (!reached.mayActEverywhere(role)) throw lacks(role, ' for every consumer')
    },
  }
}

/** Those of the contract, and those of the console's own configuration. */
function maskedMembers({ options, contracts }: Parts, consumer: string): readonly string[] | undefined {
  const ofContract = contracts.get(consumer)?.message.maskedMembers
  const configured = options.maskedMembers?.[consumer]
  if (ofContract === undefined && configured === undefined) return undefined
  return [...(ofContract ?? []), ...(configured ?? [])]
}

/** The database is read only if a right has a scope. */
export async function reachOf({ screens }: Parts, { rights }: Session): Promise<Reach> {
  if (rights.every(({ scope }) => scope === null)) return new Reach(rights, [])
  return new Reach(rights, (await screens.overview.now()).status.consumers)
}

function answer(context: Context, value: unknown): Response {
  context.header('cache-control', 'no-store')
  if (!(value instanceof FileAnswer)) return context.json(value as object)
  return context.body(value.content, 200, {
    'content-type': value.type,
    'content-disposition': `attachment; filename="${value.name}"`,
    ...value.headers,
  })
}
