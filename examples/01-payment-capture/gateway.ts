import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

export interface GatewayCall {
  readonly key: string
  readonly body: string
  readonly charged: boolean
}

export type Mood = 'answers' | 'charges and hangs' | 'charges and answers 500' | 'is busy' | 'declines'

/**
 * A fake payment gateway that honours the idempotency key. `mood` decides each call; `book` records all of
 * them.
 */
export async function startGateway(mood: (call: number) => Mood = () => 'answers', port = 0) {
  const book: GatewayCall[] = []
  const charged = new Set<string>()
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const key = String(request.headers['idempotency-key'])
    const now = mood(book.length)
    const charges = !charged.has(key) && now !== 'is busy' && now !== 'declines'
    if (charges) charged.add(key)
    book.push({ key, body, charged: charges })
    if (now === 'charges and hangs') return
    response.statusCode = { answers: 200, 'charges and answers 500': 500, 'is busy': 503, declines: 402 }[now]
    response.end(JSON.stringify({ captured: response.statusCode === 200 }))
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/captures`,
    book,
    charges: (key: string) => book.filter(call => call.key === key && call.charged).length,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const bad: Mood[] = ['charges and hangs', 'charges and answers 500', 'is busy']
  const gateway = await startGateway(
    call => (call % 5 === 4 ? bad[Math.floor(call / 5) % bad.length]! : 'answers'),
    8090,
  )
  console.log(`gateway listening on ${gateway.url}; calls fail in turn`)
  setInterval(
    () => console.log(`${gateway.book.length} calls, ${gateway.book.filter(c => c.charged).length} charges`),
    2_000,
  )
}
