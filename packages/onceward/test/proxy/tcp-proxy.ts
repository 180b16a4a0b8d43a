import { connect, createServer, type Socket } from 'node:net'

/** Called with each piece of bytes; gives what to pass on, or null to drop it. */
export type Filter = (bytes: Buffer) => Buffer | null

/** A TCP relay whose connections a test can hurt: cut, freeze, or lose what one side says. */
export interface TcpProxy {
  readonly port: number
  /** The given URL with this proxy's address in place of the server's. */
  through(url: string): string
  /** Open connections. */
  readonly connections: number
  /** Bytes the server sent so far, dropped ones included. */
  readonly bytesFromServer: number
  /** Resets every open connection; new ones are accepted. */
  cut(): void
  /** From now on new connections are reset at once, as by a server that is down. */
  refuse(): void
  accept(): void
  /** Passes nothing in either direction, without closing: a half-open connection. New ones hang as well. */
  pause(): void
  resume(): void
  /** Sees every piece on its way; null passes all. A dropped reply is `toClient(() => null)`. */
  toServer(filter: Filter | null): void
  toClient(filter: Filter | null): void
  close(): Promise<void>
}

export async function startTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  const pairs = new Set<readonly [Socket, Socket]>()
  const filters: { toServer: Filter | null; toClient: Filter | null } = { toServer: null, toClient: null }
  let paused = false
  let refusing = false
  let bytesFromServer = 0

  const relay = (from: Socket, to: Socket, side: 'toServer' | 'toClient') => {
    from.on('data', bytes => {
      if (side === 'toClient') bytesFromServer += bytes.length
      const filter = filters[side]
      const passed = filter === null ? bytes : filter(bytes)
      if (passed !== null && !to.write(passed)) from.pause()
    })
    to.on('drain', () => {
      if (!paused) from.resume()
    })
    from.on('end', () => to.end())
    from.on('error', () => to.destroy())
    from.on('close', () => to.destroy())
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, client => {
    if (refusing) {
      client.on('error', () => {})
      client.resetAndDestroy()
      return
    }
    const upstream = connect({ ...target, allowHalfOpen: true, noDelay: true })
    const pair = [client, upstream] as const
    pairs.add(pair)
    client.once('close', () => pairs.delete(pair))
    relay(client, upstream, 'toServer')
    relay(upstream, client, 'toClient')
    if (paused) for (const socket of pair) socket.pause()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }

  const cut = () => {
    for (const [client, upstream] of pairs) {
      client.resetAndDestroy()
      upstream.destroy()
    }
  }
  return {
    port,
    through: url => {
      const changed = new URL(url)
      changed.hostname = '127.0.0.1'
      changed.port = String(port)
      return changed.href
    },
    get connections() {
      return pairs.size
    },
    get bytesFromServer() {
      return bytesFromServer
    },
    cut,
    refuse: () => {
      refusing = true
    },
    accept: () => {
      refusing = false
    },
    pause: () => {
      paused = true
      for (const pair of pairs) for (const socket of pair) socket.pause()
    },
    resume: () => {
      paused = false
      for (const pair of pairs) for (const socket of pair) socket.resume()
    },
    toServer: filter => {
      filters.toServer = filter
    },
    toClient: filter => {
      filters.toClient = filter
    },
    close: async () => {
      cut()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** A proxy in front of the server a URL names. */
export function startProxyFor(url: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(url)
  return startTcpProxy({ host: hostname, port: Number(port) })
}
