import { randomUUID } from 'node:crypto'
import pg from 'pg'
import type { SqlPool } from '../pool.ts'
import { hintChannel } from './queue.ts'

const probeTimeoutMs = 3_000
const reconnectDelayMs = 1_000
const reconnectDelayMaxMs = 30_000

/**
 * Receives hints on a dedicated connection. They are only hints: polling continues.
 *
 *   connecting ──LISTEN, own probe received──▶ listening ──connection lost──▶ connecting (growing delay)
 *        ├── behind a pooler ──▶ stopped, logged once
 *        └── probe not received ──▶ stopped, logged once
 *
 * Behind a pooler it sends no LISTEN, because that would stay on a server connection of other clients.
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

  /** Without connection options of the pool there is no connection to listen on. */
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
        return this.#giveUp(client, 'the connection goes through a pooler such as PgBouncer: polling only')
      await client.query(`listen ${hintChannel}`)
      this.#probing = true
      this.#timer = setTimeout(() => void this.#reprobe(client), probeTimeoutMs)
      await this.#pool.query('select pg_notify($1, $2)', [hintChannel, probe])
    } catch {
      retry()
    }
  }

  #heard(): void {
    clearTimeout(this.#timer)
    this.#probing = false
    this.#failures = 0
    // Messages that were published while the listener was disconnected sent no hint.
    this.#onHint()
  }

  /**
   * A process that was paused may have the probe in its socket: a notification sent before an answer arrives
   * before it.
   */
  async #reprobe(client: pg.Client): Promise<void> {
    await client.query('select 1').catch(() => {})
    if (this.#probing) this.#giveUp(client, 'notifications do not arrive: polling only')
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

/** A pooler sends a process id of its own at connect. */
async function isPooled(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query('select pg_backend_pid() as pid')
  return (client as { processID?: number | null }).processID !== rows[0].pid
}
