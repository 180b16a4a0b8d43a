import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/**
 * Reserved for this process until it ends: no other caller gets one of them before the server has started,
 * or while it is dead. They are below those that the system gives to connections.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers: Server[] = []
  while (servers.length < count) {
    const port = randomInt(15_000, 30_000)
    if (!(await reserve(port))) continue
    const server = createServer()
    const listening = happens(once(server, 'listening'))
    server.listen(port, '127.0.0.1')
    if (await listening) servers.push(server)
  }
  const ports = servers.map(server => (server.address() as { port: number }).port)
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))))
  return ports
}

/** By the UDP port of the same number, which no server under test uses. */
async function reserve(port: number): Promise<boolean> {
  const socket = createSocket('udp4').unref()
  const bound = happens(once(socket, 'listening'))
  socket.bind({ port, address: '127.0.0.1', exclusive: true })
  return bound
}

const happens = (event: Promise<unknown>): Promise<boolean> =>
  event.then(
    () => true,
    () => false,
  )
