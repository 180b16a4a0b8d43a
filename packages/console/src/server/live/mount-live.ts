import type { Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import { signedIn, visibleTo } from '../api/mount-api.ts'
import { shownOverview } from '../api/overview-routes.ts'
import type { Parts } from '../parts.ts'

/** Server-sent events of the overview. All streams share one query a second. */
export function mountLive(app: Hono, parts: Parts): void {
  app.get('/api/live/overview', context => {
    const session = signedIn(parts, context)
    context.header('cache-control', 'no-store')
    context.header('x-accel-buffering', 'no')
    return streamSSE(context, async stream => {
      let sent = ''
      const stop = parts.screens.overview.watch(overview => {
        void visibleTo(parts, session)
          .then(async visible => {
            const data = JSON.stringify(shownOverview(overview, visible))
            if (data === sent) return
            sent = data
            await stream.writeSSE({ event: 'overview', data })
          })
          .catch(() => {})
      })
      await new Promise<void>(resolve => stream.onAbort(resolve))
      stop()
    })
  })
}
