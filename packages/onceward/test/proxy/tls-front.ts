import { connect } from 'node:net'
import { createServer, type TLSSocket, type TlsOptions } from 'node:tls'

/** Speaks TLS with a certificate of the test's choice in front of a server without it. */
export async function startTlsFront(options: TlsOptions, port: number) {
  const open = new Set<TLSSocket>()
  const server = createServer(options, client => {
    open.add(client)
    const upstream = connect({ host: '127.0.0.1', port })
    client.on('error', () => upstream.destroy()).on('close', () => open.delete(client))
    upstream.on('error', () => client.destroy())
    client.pipe(upstream).pipe(client)
  })
  server.on('tlsClientError', () => {})
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as { port: number }).port,
    async close() {
      for (const client of open) client.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
