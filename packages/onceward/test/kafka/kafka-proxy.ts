import type { TestContext } from 'node:test'
import { type Filter, startTcpProxy, type TcpProxy } from '../proxy/tcp-proxy.ts'
import { failFetch, withEnd } from './false-answers.ts'

/**
 * A proxy that clients do not leave: the address brokers advertise is replaced by the proxy's in every
 * answer.
 */
export interface KafkaProxy extends TcpProxy {
  readonly bootstrap: string
  /** Loses what the broker says from now on, while it still hears everything, until `listen` or a cut. */
  deafen(): void
  listen(): void
  /** From now on the partition seems to end here, wherever the broker is asked for its end, until `listen`. */
  endEarly(topic: string, partition: number, end: number): void
  /** The next fetches of the topic with this id are answered with an error of this code, until `listen`. */
  failFetches(topicId: string, code: number, times?: number): void
  /** Calls back with the API key of every request that passes. */
  onRequest(see: ((apiKey: number) => void) | null): void
}

export async function startKafkaProxy(t: TestContext, bootstrap: string): Promise<KafkaProxy> {
  const [host, port] = bootstrap.split(':')
  const proxy = await startTcpProxy({ host: host!, port: Number(port) })
  t.after(() => proxy.close())
  const rename = renaming(addressBytes(host!, Number(port)), addressBytes(host!, proxy.port))
  proxy.toClient(rename)
  return {
    ...proxy,
    bootstrap: `${host}:${proxy.port}`,
    get connections() {
      return proxy.connections
    },
    get bytesFromServer() {
      return proxy.bytesFromServer
    },
    deafen: () => proxy.toClient(() => null),
    listen: () => proxy.toClient(rename),
    endEarly: (topic, partition, end) =>
      proxy.toClient(bytes => withEnd(rename(bytes)!, { topic, partition, end })),
    failFetches: (topicId, code, times = Number.POSITIVE_INFINITY) => {
      let left = times
      proxy.toClient(bytes => {
        if (left > 0 && failFetch(bytes, topicId, code)) left--
        return rename(bytes)
      })
    },
    onRequest: see =>
      proxy.toServer(
        see === null
          ? null
          : bytes => {
              for (let at = 0; at + 8 <= bytes.length; at += bytes.readInt32BE(at) + 4)
                see(bytes.readInt16BE(at + 4))
              return bytes
            },
      ),
  }
}

/** As in answers that name brokers: the host's text, then the port. */
function addressBytes(host: string, port: number): Buffer {
  const bytes = Buffer.alloc(host.length + 4)
  bytes.write(host)
  bytes.writeInt32BE(port, host.length)
  return bytes
}

function renaming(from: Buffer, to: Buffer): Filter {
  return bytes => {
    for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + 1)) to.copy(bytes, at)
    return bytes
  }
}
