import type { Socket } from 'node:net'
import pg from 'pg'
import { ListeningClient, writeIsoTimes } from './date-style.ts'

/** The slice of a `pg` pool and client that the store uses. */
export interface SqlPool {
  connect(): Promise<PooledClient>
  query(text: string, values?: readonly unknown[]): Promise<SqlResult>
  end(): Promise<void>
}

/** A pool created by this library. */
export interface OwnPool extends SqlPool {
  /** Closes every connection at once: pending statements fail now rather than after their time-out. */
  cut(): void
}

/** Anything that executes a statement: a client in a transaction, a pool, an ORM. */
export interface SqlClient {
  query(text: string, values?: readonly unknown[]): Promise<SqlResult>
}

export interface PooledClient extends SqlClient {
  query(text: string, values?: readonly unknown[]): Promise<SqlResult>
  query(config: { text: string; values: unknown[]; queryMode: 'extended' }): Promise<SqlResult>
  release(destroy?: Error | boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

export interface SqlResult {
  // biome-ignore lint/suspicious/noExplicitAny: rows are shaped by the statement beside each use
  readonly rows: any[]
  readonly rowCount: number | null
  /** The command tag of the server; libraries may hide it. */
  readonly command?: string
}

/**
 * Longest wait for the answer to a statement: after it the connection counts as half open. Handlers have a
 * shorter limit.
 */
const queryTimeoutMs = 60_000

export interface PoolOptions {
  readonly max?: number
  /** Called with each new connection before it is used; if it rejects, the connection is closed. */
  readonly verify?: (client: SqlClient) => Promise<void>
}

/**
 * A pool in pipeline mode: statements of concurrent handlers are sent without waiting for earlier answers (35
 * k/s against 7.5 k/s one after the other). Statements are unnamed, so PgBouncer in transaction mode works.
 */
export function createPool(url: string, options: PoolOptions = {}): OwnPool {
  const { verify } = options
  const pool = new pg.Pool({
    Client: ListeningClient,
    connectionString: url,
    max: options.max ?? 10,
    connectionTimeoutMillis: 10_000,
    query_timeout: queryTimeoutMs,
    keepAlive: true,
    pipeline: true,
    ...(verify && {
      verify: (client: pg.PoolClient, done: (error?: Error) => void) =>
        void verify(client as unknown as SqlClient).then(() => done(), done),
    }),
  } as pg.PoolConfig)
  // The pool replaces a connection that is lost, idle or in use; without a listener the event would end the
  // process.
  pool.on('error', () => {})
  const clients = new Set<pg.PoolClient>()
  pool.on('connect', client => {
    client.on('error', () => {})
    clients.add(client)
    writeIsoTimes(client)
  })
  pool.on('remove', client => void clients.delete(client))
  const cut = () => {
    for (const client of clients) socketOf(client)?.destroy(new Error('closed by this process'))
  }
  return Object.assign(pool as unknown as SqlPool, { cut })
}

/** False for a pool without pipeline mode: `pg` 9 will reject a statement while another is in progress. */
export function pipelines(pool: SqlPool): boolean {
  const { options } = pool as { options?: { pipeline?: boolean } }
  return options === undefined || options.pipeline === true
}

/**
 * Statements on this client until the next wait for the network are sent in one write (two of five writes per
 * batch are saved).
 */
export function sendTogether(client: PooledClient): void {
  const socket = socketOf(client)
  socket?.cork()
  process.nextTick(() => socket?.uncork())
}

function socketOf(client: PooledClient | pg.PoolClient): Socket | undefined {
  return (client as { connection?: { stream?: Socket } }).connection?.stream
}
