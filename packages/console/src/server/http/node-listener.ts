import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'

/** What frameworks add to Node's request. */
interface Mounted {
  /** Express removes the mount path from `url`, and keeps it here. */
  readonly originalUrl?: string
  /** The body, if a parser has read it. */
  readonly body?: unknown
  rawBody?: Buffer
}

/** A listener for Node's requests, below any path and behind any parser of bodies. */
export function nodeListener(
  fetch: (request: Request, bindings?: object) => Promise<Response>,
): (request: IncomingMessage, response: ServerResponse) => void {
  const listen = getRequestListener(fetch, { overrideGlobalObjects: false })
  return (request, response) => {
    const mounted = request as IncomingMessage & Mounted
    if (mounted.originalUrl !== undefined) request.url = mounted.originalUrl
    if (request.readableEnded && mounted.body !== undefined && mounted.rawBody === undefined)
      mounted.rawBody = Buffer.from(
        typeof mounted.body === 'string' ? mounted.body : JSON.stringify(mounted.body),
      )
    void listen(request, response)
  }
}
