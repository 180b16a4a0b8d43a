import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { SqlPool } from '../pool.ts'
import { hintChannel } from './queue.ts'

const probeTimeoutMs = 3_000
const reconnectDelayMs = 1_000
const reconnectDelayMaxMs = 30_000

/**
 * Hears hints on a connection of its own. Only ever a hint: polling goes on beside it.
 *
 *   connecting ──LISTEN, own probe heard──▶ listening ──connection lost──▶ connecting (after a growing delay)
 *        ├── behind a pooler: no LISTEN, which would stay on a server connection of others ──▶ given up, said once
 *        └── probe not heard ──▶ given up, said once
 */
export class HintListener {
  readonly #pool: SqlPool
  readonly #queue: string
  readonly #onHint: () => void
  readonly #onDeaf: (reason: string) => void
  #client: pg.Client | null = null
  #timer: NodeJS.Timeout | undefined
  #failures = 0
  #probing = false
  #closed = false

  constructor(pool: SqlPool, queue: string, onHint: () => void, onDeaf: (reason: string) => void) {
    this.#pool = pool
    this.#queue = queue
    this.#onHint = onHint
    this.#onDeaf = onDeaf
  }

  /** Where the pool does not say how to connect there is nothing to listen on. */
  start(): void {
    const config = (this.#pool as { options?: pg.ClientConfig }).options
    if (config !== undefined && !this.#closed) void this.#connect(config)
  }

  close(): void {
    this.#closed = true
    this.#drop()
  }

  async #connect(config: pg.ClientConfig): Promise<void> {
    const client = new pg.Client(config)
    const retry = () => this.#retry(config, client)
    this.#client = client
    client.on('error', retry).on('end', retry)
    const probe = `probe ${randomUUID()}`
    client.on('notification', ({ payload }) => {
      if (payload === probe) this.#heard()
      else if (payload === this.#queue) this.#onHint()
    })
    try {
      await client.connect()
      if (await isPooled(client))
        return this.#giveUp(client, 'a pooler such as PgBouncer is in between: polling only')
      await client.query(`listen ${hintChannel}`)
      this.#probing = true
      this.#timer = setTimeout(() => void this.#doubt(client), probeTimeoutMs)
      await this.#pool.query('select pg_notify($1, $2)', [hintChannel, probe])
    } catch {
      retry()
    }
  }

  #heard(): void {
    clearTimeout(this.#timer)
    this.#probing = false
    this.#failures = 0
    // What was published while nobody listened had no one to tell.
    this.#onHint()
  }

  /**
   * A process that stood still may have it in the socket: whatever was sent before an answer is heard before
   * it.
   */
  async #doubt(client: pg.Client): Promise<void> {
    await client.query('select 1').catch(() => {})
    if (this.#probing) this.#giveUp(client, 'notifications do not arrive here: polling only')
  }

  #giveUp(client: pg.Client, reason: string): void {
    if (this.#client !== client) return
    this.#drop()
    this.#onDeaf(reason)
  }

  #retry(config: pg.ClientConfig, client: pg.Client): void {
    if (this.#client !== client || this.#closed) return
    this.#drop()
    const delayMs = Math.min(reconnectDelayMaxMs, reconnectDelayMs * 2 ** Math.min(this.#failures++, 10))
    this.#timer = setTimeout(() => void this.#connect(config), delayMs)
  }

  #drop(): void {
    clearTimeout(this.#timer)
    const client = this.#client
    this.#client = null
    client?.end().catch(() => {})
  }
}

/** A pooler invents the process number that it sends at connecting. */
async function isPooled(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query('select pg_backend_pid() as pid')
  return (client as { processID?: number | null }).processID !== rows[0].pid
}
