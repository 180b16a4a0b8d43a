import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

/** A relay in front of a server, so that a test can cut the connections that go through it. */
export interface CuttableLink {
  readonly url: string
  /** Resets every connection there is now; later ones work. */
  cut(): void
  close(): Promise<void>
}

export async function openCuttableLink(target: string): Promise<CuttableLink> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const keep = (socket: Socket, other: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      other.destroy()
    })
    socket.pipe(other)
  }
  const server = createServer(inside => {
    const outside = connect(Number(port), hostname)
    keep(inside, outside)
    keep(outside, inside)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  return {
    url: url.href,
    cut,
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        cut()
      }),
  }
}
