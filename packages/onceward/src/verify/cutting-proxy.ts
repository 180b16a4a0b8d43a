import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { beginsRun } from '../drivers/postgres/verify/begins-run.ts'

/** The connection is lost before the server gets COMMIT, or before the client gets its answer. */
export type Cut = 'before commit' | 'after commit'

export interface CuttingProxy {
  /** The database's address through the proxy. */
  readonly url: string
  /** Resolves when the connection was cut. */
  readonly cut: Promise<void>
  close(): void
}

/** Passes connections to PostgreSQL on, and cuts one of them at the given COMMIT of a batch. */
export async function openCuttingProxy(
  databaseUrl: string,
  kind: Cut,
  commit: number,
): Promise<CuttingProxy> {
  const target = new URL(databaseUrl)
  const happened = Promise.withResolvers<void>()
  const sockets = new Set<Socket>()
  let commits = 0
  const server = createServer(client => {
    const upstream = connect(Number(target.port || 5432), target.hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
    }
    const end = () => {
      client.destroy()
      upstream.destroy()
    }
    const statements = new FrontendStatements()
    let inBatch = false
    let awaiting = false
    client.on('data', chunk => {
      let cuts = false
      for (const text of statements.add(chunk)) {
        if (beginsRun(text)) inBatch = true
        if (!inBatch || !/^\s*commit\b/i.test(text)) continue
        inBatch = false
        if (++commits === commit) cuts = true
      }
      if (cuts && kind === 'before commit') {
        happened.resolve()
        return end()
      }
      awaiting ||= cuts
      upstream.write(chunk)
    })
    upstream.on('data', chunk => {
      if (awaiting && chunk.includes('COMMIT\0')) {
        happened.resolve()
        return end()
      }
      if (!awaiting) client.write(chunk)
    })
    client.on('close', end)
    upstream.on('close', end)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    cut: happened.promise,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** The texts of simple queries and of Parse messages in the bytes that a client sends. */
class FrontendStatements {
  #bytes = Buffer.alloc(0)
  #started = false

  add(chunk: Buffer): string[] {
    this.#bytes = Buffer.concat([this.#bytes, chunk])
    const texts: string[] = []
    for (;;) {
      const head = this.#started ? 1 : 0
      if (this.#bytes.length < head + 4) return texts
      const size = this.#bytes.readUInt32BE(head) + head
      if (this.#bytes.length < size) return texts
      const message = this.#bytes.subarray(0, size)
      this.#bytes = this.#bytes.subarray(size)
      if (!this.#started) this.#started = true
      else if (message[0] === 0x51) texts.push(message.toString('utf8', 5, size - 1))
      else if (message[0] === 0x50) texts.push(message.toString('utf8', message.indexOf(0, 5) + 1, size))
    }
  }
}
