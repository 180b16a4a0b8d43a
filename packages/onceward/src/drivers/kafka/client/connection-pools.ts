import type { KafkaConnectionOptions } from './connection-options.ts'
import { securityOf } from './connection-security.ts'
import { defaultTimeoutsMs } from './default-timeouts.ts'
import { type Connection, ConnectionPool } from './wire.ts'

/**
 * Every purpose has separate connections, because a broker answers the requests of one connection in order. A
 * commit behind a long poll takes as long as the poll, and a heartbeat behind a join as long as the
 * rebalance.
 */
export type Purpose = 'join' | 'heartbeat' | 'commit' | 'fetch' | 'poll' | 'produce' | 'meta'

export interface Address {
  readonly host: string
  readonly port: number
}

/** The longest wait that requests ask of a broker. */
const brokerWaitMs = { fetch: 5_000, poll: 5_000, produce: 5_000 } as const

const closeTimeoutMs = 1_000

export class ConnectionPools {
  readonly #options: KafkaConnectionOptions
  readonly #ownTimeouts: Partial<Record<Purpose, number>>
  readonly #pools = new Map<Purpose, ConnectionPool>()
  readonly #connections = new Set<Connection>()
  #closed = false
  #breaks = 0

  /**
   * `timeoutsMs`: for purposes whose requests take longer, such as a join, which waits for the whole group.
   */
  constructor(options: KafkaConnectionOptions, timeoutsMs: Partial<Record<Purpose, number>> = {}) {
    this.#options = options
    this.#ownTimeouts = timeoutsMs
    securityOf(options)
  }

  /** How many connections have ended without `close`. */
  get breaks(): number {
    return this.#breaks
  }

  /**
   * An open connection; the same one for the same purpose and address until it breaks. Rejects once closed,
   * because a new connection would never be closed.
   */
  async connect(purpose: Purpose, { host, port }: Address): Promise<Connection> {
    if (this.#closed) throw new Error('closed')
    return this.#pool(purpose).get({ host, port })
  }

  /** Also ends connections to brokers that do not answer. */
  async close(): Promise<void> {
    this.#closed = true
    const pools = [...this.#pools.values()].map(pool => pool.close().catch(() => {}))
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, closeTimeoutMs)
    })
    await Promise.race([Promise.all(pools), late]).finally(() => clearTimeout(timer))
    for (const { socket } of this.#connections) socket?.destroy()
  }

  #pool(purpose: Purpose): ConnectionPool {
    const known = this.#pools.get(purpose)
    if (known !== undefined) return known
    const pool = new ConnectionPool(this.#options.clientId ?? 'onceward', {
      ...securityOf(this.#options),
      connectTimeout: this.#options.connectTimeoutMs ?? defaultTimeoutsMs.connect,
      requestTimeout: this.#timeoutMs(purpose),
    })
    pool.on('connecting', ({ connection }) => this.#watch(connection))
    this.#pools.set(purpose, pool)
    return pool
  }

  #timeoutMs(purpose: Purpose): number {
    const waitMs = purpose in brokerWaitMs ? brokerWaitMs[purpose as keyof typeof brokerWaitMs] : 0
    const { requestTimeoutMs = defaultTimeoutsMs.request } = this.#options
    return this.#ownTimeouts[purpose] ?? requestTimeoutMs + waitMs
  }

  /**
   * The client library listens for one error only, but a socket that was refused at the handshake may fail
   * again. Without a listener that would end the process. The library also leaves the refused socket half
   * open.
   */
  #watch(connection: Connection): void {
    this.#connections.add(connection)
    connection.on('error', () => {
      this.#connections.delete(connection)
      connection.socket?.destroy()
    })
    connection.on('close', () => {
      this.#connections.delete(connection)
      if (!this.#closed) this.#breaks++
    })
    if (this.#closed) setImmediate(() => connection.socket?.destroy())
  }
}
