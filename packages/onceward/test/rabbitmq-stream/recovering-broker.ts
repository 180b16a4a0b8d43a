import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { command } from '../../src/drivers/rabbitmq-stream/wire/frame.ts'
import { FrameSplitter } from '../../src/drivers/rabbitmq-stream/wire/frame-splitter.ts'

/** The real broker as it answers while it recovers: its statistics stop early, and nothing is served. */
export interface RecoveringBroker {
  readonly url: string
  /** Statistics that were answered falsely. */
  readonly falseAnswers: number
  /**
   * From now on `committed` is the newest chunk it knows to be committed, for so many statistics; then all is
   * as it is. `shorter`: it says that it has nothing behind that chunk either.
   */
  recover(committed: number, answers: number, options?: { readonly shorter?: boolean }): void
  recovered(): void
  /** Damages the next chunks on their way. */
  damage(chunks: number): void
  /** Ends its connections, and no longer answers where streams are: as a node without contact to the others. */
  cutOff(): void
}

const statsAnswer = command.streamStats | 0x8000
const openAnswer = command.open | 0x8000
const nodesAnswer = command.metadata | 0x8000

/** `isNode`: announces itself as a node of its own, so that streams are read from the real one. */
export async function startRecoveringBroker(
  t: TestContext,
  url: string,
  { isNode = false } = {},
): Promise<RecoveringBroker> {
  const upstream = new URL(url)
  let state: { readonly committed: number; readonly shorter: boolean; left: number } | null = null
  let falseAnswers = 0
  let damages = 0
  let isCutOff = false
  let port = ''
  const sockets = new Set<Socket>()
  const filter = (frame: Buffer): Buffer | null => {
    const key = frame.readUInt16BE(0)
    if (key === openAnswer && isNode) return advertising(frame, upstream.port, port)
    if (key === nodesAnswer && isCutOff) return null
    if (key === command.deliver && damages > 0) {
      damages--
      return damaged(frame)
    }
    if (state === null) return frame
    if (key === command.deliver) return null
    if (key !== statsAnswer) return frame
    falseAnswers++
    const { committed, shorter } = state
    if (--state.left <= 0) state = null
    const answer = withStatistic(frame, 'committed_chunk_id', committed)
    return shorter ? withStatistic(answer, 'last_chunk_id', committed) : answer
  }
  const server = createServer(client => {
    const broker = connect({ host: upstream.hostname, port: Number(upstream.port) })
    const splitter = new FrameSplitter()
    for (const socket of [client, broker]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        client.destroy()
        broker.destroy()
      })
    }
    client.on('data', bytes => broker.write(bytes))
    broker.on('data', bytes =>
      splitter.add(bytes, frame => {
        const passed = filter(frame)
        if (passed === null) return
        const size = Buffer.alloc(4)
        size.writeUInt32BE(passed.length)
        client.write(size)
        client.write(passed)
      }),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const proxied = new URL(url)
  port = String((server.address() as { port: number }).port)
  proxied.port = port
  return {
    url: proxied.href,
    get falseAnswers() {
      return falseAnswers
    },
    recover: (committed, answers, { shorter = false } = {}) => {
      state = { committed, shorter, left: answers }
    },
    recovered: () => {
      state = null
    },
    damage: chunks => {
      damages = chunks
    },
    cutOff: () => {
      isCutOff = true
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Ports of the servers and of clients have five digits. */
function advertising(frame: Buffer, port: string, own: string): Buffer {
  const changed = Buffer.from(frame)
  changed.write(own, changed.indexOf(port))
  return changed
}

function damaged(frame: Buffer): Buffer {
  const changed = Buffer.from(frame)
  changed[changed.length - 1]! ^= 1
  return changed
}

function withStatistic(frame: Buffer, name: string, value: number): Buffer {
  const changed = Buffer.from(frame)
  changed.writeBigInt64BE(BigInt(value), changed.indexOf(name) + name.length)
  return changed
}
