import { Hono } from 'hono'
import { openGuardedPool } from 'onceward/operations'
import { Campaigns } from './api/campaigns.ts'
import { mountApi } from './api/mount-api.ts'
import { openApi } from './api/open-api.ts'
import { RefusalLimit } from './api/record-refused.ts'
import { routes } from './api/routes.ts'
import { Screens } from './api/screens.ts'
import { Selections } from './api/selections.ts'
import { assertAuth } from './auth/assert-auth.ts'
import { Links } from './auth/links.ts'
import { mountSignIn } from './auth/mount-sign-in.ts'
import { Sessions } from './auth/sessions.ts'
import { answerError } from './http/answer-error.ts'
import { cookieNames } from './http/cookies.ts'
import { Limits } from './http/limits.ts'
import { nodeListener } from './http/node-listener.ts'
import { assertHost } from './http/origins.ts'
import { securityHeaders } from './http/security-headers.ts'
import { mountLive } from './live/mount-live.ts'
import type { Console, ConsoleOptions } from './options.ts'
import { mountPages } from './pages.ts'
import { isPersonName } from './rights/person-name.ts'
import { everything } from './rights/rights.ts'

const connectionsMax = 8

/** The console as a fetch handler. One request passes: origin, session, role, scope, then the database. */
export function createConsole(options: ConsoleOptions): Console {
  const { auth } = options
  assertAuth(auth)
  const basePath = normalBase(options.basePath ?? '/')
  const pool = openGuardedPool(options.database, connectionsMax)
  const contracts = new Map((options.contracts ?? []).map(contract => [contract.name, contract]))
  const campaigns = new Campaigns(options, contracts)
  const parts = {
    options,
    basePath,
    pool,
    sessions: new Sessions(),
    links: new Links(),
    limits: new Limits(),
    refusals: new RefusalLimit(),
    screens: new Screens(pool),
    selections: new Selections(),
    campaigns,
    contracts,
  }
  const app = new Hono()
  app.onError(answerError)
  app.use(async (context, next) => {
    assertHost(auth, context.req.raw)
    await next()
    for (const [name, value] of Object.entries(securityHeaders)) context.res.headers.set(name, value)
  })
  const inner = new Hono()
  inner.get('/api/openapi.json', context =>
    context.json(openApi(routes, basePath, cookieNames(auth).session)),
  )
  mountSignIn(inner, parts)
  mountLive(inner, parts)
  mountApi(inner, parts)
  mountPages(inner, basePath)
  app.route(basePath === '/' ? '/' : basePath.slice(0, -1), inner)
  const fetch = async (request: Request, bindings?: object) => withHeaders(await app.fetch(request, bindings))
  return {
    fetch,
    listener: nodeListener(fetch),
    signInLink: person => {
      if (auth.kind !== 'link') throw new Error('Sign-in links exist only with link auth.')
      if (!isPersonName(person)) throw new Error(`${JSON.stringify(person)} cannot be the name of a person.`)
      return `${basePath}#link=${parts.links.create(person, everything)}`
    },
    close: async () => {
      await campaigns.close()
      await pool.end()
    },
  }
}

/** Also on answers of the error handler. */
function withHeaders(response: Response): Response {
  if (response.headers.has('content-security-policy')) return response
  const headers = new Headers(response.headers)
  for (const [name, value] of Object.entries(securityHeaders)) headers.set(name, value)
  return new Response(response.body, { status: response.status, headers })
}

/** With a slash at both ends. */
function normalBase(path: string): string {
  const inner = path.replace(/^\/+|\/+$/g, '')
  if (!/^[\w./~-]*$/.test(inner) || inner.split('/').some(part => part === '..' || part === '.'))
    throw new Error(`basePath ${JSON.stringify(path)} is not a plain path. The console was not created.`)
  return inner === '' ? '/' : `/${inner}/`
}
