import type { Context, Hono } from 'hono'
import { clientAddress } from '../http/client-address.ts'
import { cookieNames, isSecure, readCookie, writeCookie } from '../http/cookies.ts'
import { assertOrigin } from '../http/origins.ts'
import { Problem } from '../http/problem.ts'
import type { Parts } from '../parts.ts'
import { isPersonName } from '../rights/person-name.ts'
import type { Identity, Rights } from '../rights/rights.ts'
import { OpenId } from './open-id.ts'
import { newSecret } from './sessions.ts'

/** Sign-in by link or OpenID Connect, and sign-out. Each sign-in opens a session under a new id. */
export function mountSignIn(app: Hono, parts: Parts): void {
  const { options, basePath, sessions, links, limits } = parts
  const { auth } = options
  const names = cookieNames(auth)

  const addressOf = (context: Context) => clientAddress(auth, context.req.raw.headers, context.env)
  const open = (context: Context, identity: Identity, rights: Rights) => {
    const { id } = sessions.open(identity, rights, readCookie(context.req.raw, names.session))
    context.header('set-cookie', writeCookie(names.session, id, isSecure(auth)), { append: true })
  }

  app.get('/api/sign-in', context => context.json({ kind: auth.kind }))

  app.post('/api/sign-in', async context => {
    assertOrigin(auth, context.req.raw)
    if (auth.kind !== 'link') throw new Problem(404, 'not_found', 'This console has no sign-in links.')
    const { token } = (await context.req.json().catch(() => ({}))) as { token?: unknown }
    const link = typeof token === 'string' ? links.redeem(token) : null
    // A token cannot be guessed, so a valid one is not refused for what others try.
    if (link === null) limits.assertSignIn(addressOf(context))
    if (link === null)
      throw new Problem(
        401,
        'link_used',
        'This link was used or has expired. Start the console again for another.',
      )
    open(context, link.identity, link.rights)
    return context.json({ ok: true })
  })

  app.post('/api/sign-out', context => {
    assertOrigin(auth, context.req.raw)
    const id = readCookie(context.req.raw, names.session)
    if (id !== undefined) sessions.close(id)
    context.header('set-cookie', writeCookie(names.session, '', isSecure(auth), 0))
    return context.json({ ok: true })
  })

  if (auth.kind !== 'openid') return
  const openId = new OpenId(auth, `${new URL(auth.origin).origin}${basePath}auth/callback`)

  app.get('/auth/start', async context => {
    limits.assertSignIn(addressOf(context))
    const id = newSecret()
    const url = await openId.begin(id)
    context.header('set-cookie', writeCookie(names.signIn, id, isSecure(auth), 600))
    return context.redirect(url.href)
  })

  app.get('/auth/callback', async context => {
    const id = readCookie(context.req.raw, names.signIn)
    const query = new URL(context.req.url).searchParams
    const found = id === undefined ? null : await openId.end(id, query).catch(() => null)
    context.header('set-cookie', writeCookie(names.signIn, '', isSecure(auth), 0))
    if (found === null || !isPersonName(found.identity.name))
      return context.redirect(`${basePath}#sign-in=failed`)
    if (found.rights === null) return context.redirect(`${basePath}#sign-in=no-rights`)
    open(context, found.identity, found.rights)
    return context.redirect(basePath)
  })
}
