import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/**
 * Free at this moment: all are held until the last one is known, so that none comes twice. Below those that
 * the system gives to whoever asks for any: until the server has started, or while it is dead, nobody is
 * given one of them.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers: Server[] = []
  while (servers.length < count) {
    const server = createServer()
    const listening = once(server, 'listening').then(
      () => true,
      () => false,
    )
    server.listen(randomInt(15_000, 30_000), '127.0.0.1')
    if (await listening) servers.push(server)
  }
  const ports = servers.map(server => (server.address() as { port: number }).port)
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))))
  return ports
}
