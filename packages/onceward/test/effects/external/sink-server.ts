import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

interface Stored {
  readonly version: number
  readonly body: string
}

/**
 * The three contracts that search indexes, object stores and caches have over HTTP: a document is written only
 * over a lower external version, an object only where there is none, and an entry is removed.
 */
export async function startSinks() {
  const documents = new Map<string, Stored>()
  const objects = new Map<string, string>()
  const cache = new Map<string, string>()
  const writes: { readonly path: string; readonly status: number }[] = []
  /** Writes whose answer is lost: the connection is reset after the effect. */
  const lost = new Set<string>()
  const apply = async (request: IncomingMessage): Promise<number> => {
    const url = new URL(request.url!, 'http://sinks')
    const name = url.pathname.split('/').at(-1)!
    const body = (await buffer(request)).toString()
    if (url.pathname.startsWith('/index/')) {
      const version = Number(url.searchParams.get('version'))
      if ((documents.get(name)?.version ?? -1) >= version) return 409
      documents.set(name, { version, body })
      return 201
    }
    if (url.pathname.startsWith('/objects/')) {
      if (objects.has(name) && request.headers['if-none-match'] === '*') return 412
      objects.set(name, body)
      return 201
    }
    return cache.delete(name) ? 200 : 404
  }
  const server = createServer((request, response) => {
    void apply(request).then(status => {
      writes.push({ path: request.url!, status })
      if (lost.delete(request.url!)) return request.socket.resetAndDestroy()
      response.writeHead(status).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    documents,
    objects,
    cache,
    writes,
    lost,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
