import type { Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import { reachOf, signedIn } from '../api/mount-api.ts'
import { shownOverview } from '../api/overview-routes.ts'
import type { Session } from '../auth/sessions.ts'
import { Problem } from '../http/problem.ts'
import type { Parts } from '../parts.ts'

/** The browser connects again, and its rights are read again. */
const streamMaxMs = 10 * 60_000
const streamsOfSessionMax = 100

/**
 * Server-sent events of the overview: `overview` with its figures, `away` while the database does not answer.
 * All streams share one query a second. A stream ends with its session.
 */
export function mountLive(app: Hono, parts: Parts): void {
  const streams = new Map<Session, number>()
  const count = (session: Session, change: 1 | -1) => {
    const open = (streams.get(session) ?? 0) + change
    if (open === 0) streams.delete(session)
    else streams.set(session, open)
  }
  app.get('/api/live/overview', context => {
    const session = signedIn(parts, context)
    if ((streams.get(session) ?? 0) >= streamsOfSessionMax)
      throw new Problem(429, 'too_many', 'Too many open streams. Close some pages.')
    context.header('cache-control', 'no-store')
    context.header('x-accel-buffering', 'no')
    return streamSSE(context, async stream => {
      count(session, 1)
      const { promise: ended, resolve: end } = Promise.withResolvers<void>()
      const endsMs = Date.now() + streamMaxMs
      const send = async (event: string, value: () => Promise<object>) => {
        if (Date.now() > endsMs || !parts.sessions.isOpen(session)) return end()
        await stream.writeSSE({ event, data: JSON.stringify(await value()) })
      }
      const stop = parts.screens.overview.watch(
        overview =>
          void send('overview', async () => {
            const [{ visible }, rates] = await Promise.all([
              reachOf(parts, session),
              parts.screens.rates.now(),
            ])
            return shownOverview(overview, rates, parts.contracts, visible)
          }).catch(() => {}),
        () => void send('away', async () => ({ at: new Date() })).catch(() => {}),
      )
      stream.onAbort(end)
      await ended
      stop()
      count(session, -1)
    })
  })
}
