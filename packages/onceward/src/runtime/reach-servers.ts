import { connect } from 'node:net'
import { errorCode, OncewardError } from '../errors.ts'

/** A server with its addresses; any of them is sufficient. */
export interface Server {
  /** For texts, such as `RabbitMQ`. */
  readonly name: string
  readonly addresses: readonly { readonly host: string; readonly port: number }[]
}

const connectMs = 5_000

/**
 * Checks that a server accepts connections. The drivers wait for their broker without naming the host; this
 * check names it, and a stopping process does not wait for a handshake. Rejects with `broker_unreachable`.
 */
export async function reachServers(servers: readonly Server[], signal: AbortSignal): Promise<void> {
  for (const { name, addresses } of servers) {
    const refusals: string[] = []
    for (const address of addresses) {
      const refusal = await knock(address, signal)
      if (refusal === null) {
        refusals.length = 0
        break
      }
      refusals.push(`${address.host}:${address.port} (${refusal})`)
    }
    if (refusals.length > 0)
      throw new OncewardError(
        'broker_unreachable',
        `${name} cannot be reached at ${refusals.join(', ')}. Nothing was read and nothing is lost. Check the address, and that the server runs.`,
        { details: { server: name, addresses: addresses.map(({ host, port }) => `${host}:${port}`) } },
      )
  }
}

/** Null when the connection was accepted, else the reason. Never rejects. */
function knock({ host, port }: { host: string; port: number }, signal: AbortSignal): Promise<string | null> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve('stopped')
    const socket = connect({ host, port })
    const end = (refusal: string | null) => {
      signal.removeEventListener('abort', stop)
      socket.destroy()
      resolve(refusal)
    }
    const stop = () => end('stopped')
    signal.addEventListener('abort', stop)
    socket.setTimeout(connectMs, () => end(`no answer in ${connectMs / 1_000} s`))
    socket.once('connect', () => end(null))
    socket.once('error', error => end(errorCode(error)))
  })
}
