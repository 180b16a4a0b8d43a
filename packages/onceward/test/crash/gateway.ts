import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A gateway that honours idempotency keys and keeps its own book of every call. */
export interface Gateway {
  readonly url: string
  /** Calls by key: the digests of the bytes each carried. */
  readonly calls: ReadonlyMap<string, readonly string[]>
  close(): Promise<void>
}

export async function startGateway(): Promise<Gateway> {
  const calls = new Map<string, string[]>()
  const hungUp = new Set<string>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const asked = new URL(request.url!, 'http://gateway').searchParams.get('key')
      if (asked !== null) return void response.end(calls.has(asked) ? 'completed' : 'not done')
      const body = Buffer.concat(chunks)
      const key = String(request.headers['idempotency-key'] ?? JSON.parse(body.toString()).id)
      const hangsUp = request.headers['idempotency-key'] === undefined && !hungUp.has(key)
      if (hangsUp) hungUp.add(key)
      if (!hangsUp || hungUp.size <= 2 || calls.has(key)) {
        const digest = createHash('sha256').update(body).digest('hex')
        calls.set(key, [...(calls.get(key) ?? []), digest])
      }
      if (hangsUp) return void response.destroy()
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/charge`,
    calls,
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
