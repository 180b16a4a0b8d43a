import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { verifyWebhook } from 'onceward'

/**
 * The warehouse: accepts only signed calls, and does the work once per webhook id. `stumbles` answers 500
 * after the work, for tests.
 */
export async function startReceiver(
  secrets: Readonly<Record<string, string>>,
  options: { readonly port?: number; readonly stumbles?: (call: number) => boolean } = {},
) {
  const shipments = new Map<string, unknown>()
  const refused: string[] = []
  let calls = 0
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    const verified = verifyWebhook({ headers: request.headers, body, secrets, nowMs: Date.now() })
    calls++
    if (!verified.ok) {
      refused.push(verified.reason)
      return void response.writeHead(401).end()
    }
    if (!shipments.has(verified.id)) shipments.set(verified.id, JSON.parse(body.toString()))
    response.writeHead(options.stumbles?.(calls) ? 500 : 204).end()
  })
  await new Promise<void>(resolve => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/shipments`,
    shipments,
    refused,
    calls: () => calls,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const receiver = await startReceiver({ '2026-07': process.env.WEBHOOK_SECRET ?? '' }, { port: 8_095 })
  console.log(`warehouse listening on ${receiver.url}`)
  setInterval(
    () => console.log(`${receiver.shipments.size} shipments, ${receiver.refused.length} refused`),
    2_000,
  )
}
