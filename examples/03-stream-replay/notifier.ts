import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** Represents the service that notifies customers. Its book records every call. */
export async function startNotifier(port = 0) {
  const book: { readonly key: string; readonly body: string }[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    book.push({ key: String(request.headers['idempotency-key']), body })
    response.end('{}')
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/notifications`,
    book,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url, book } = await startNotifier(8091)
  console.log(`notifier listening on ${url}`)
  setInterval(() => console.log(`${book.length} customers notified`), 2_000)
}
