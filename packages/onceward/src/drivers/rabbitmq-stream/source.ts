import { setTimeout as delay } from 'node:timers/promises'
import { errorText, OncewardError } from '../../errors.ts'
import type { OpenOptions, Source, Stall } from '../../ports/source.ts'
import { type LogDriver, LogSubscription } from '../log/log-subscription.ts'
import type { PartitionProgress } from '../log/partition-progress.ts'
import { withTls } from '../tls/tls-url.ts'
import { readAddress, type StreamAddress } from './address.ts'
import { KnownNodes } from './known-nodes.ts'
import { OffsetCommitter } from './offset-committer.ts'
import { StreamSession } from './session.ts'
import { assertStream, type StreamDeclaration } from './stream.ts'
import { within } from './within.ts'

/** Where and how a source connects to the stream port. */
export interface StreamSourceOptions {
  /** Used when the declaration names no address. */
  readonly url?: string
  /**
   * Largest unreadable part of a stream that is quarantined with its bytes; a larger one is a declared loss.
   * Default 32 MiB.
   */
  readonly keptBytesMax?: number
  /** Aborts an `open` that is still trying to reach the broker. */
  readonly signal?: AbortSignal
}

/** A RabbitMQ stream or super stream as a source. It connects in `open`. */
export function createStreamSource(
  declaration: StreamDeclaration,
  options: StreamSourceOptions = {},
): Source {
  const name = `rabbitmq ${declaration.superStream ? 'super stream' : 'stream'} ${declaration.stream}`
  const ordered = declaration.singleActive !== false
  return {
    name,
    capabilities: {
      order: { key: ordered, partition: ordered },
      positions: true,
      deliveryCount: false,
      redelivers: true,
    },
    open: async openOptions => {
      const url = declaration.url ?? options.url
      const address = readAddress(url && withTls(url, declaration.tls), name)
      const group = declaration.group ?? groupOf(openOptions.log.consumer)
      assertStream(declaration, group)
      const driver = new StreamDriver(declaration, address, group, openOptions, options.keptBytesMax)
      const giveUp = () => void driver.close()
      options.signal?.addEventListener('abort', giveUp, { once: true })
      if (options.signal?.aborted) giveUp()
      await driver.start().finally(() => options.signal?.removeEventListener('abort', giveUp))
      return driver.subscription
    },
  }
}

function groupOf({ name, generation }: OpenOptions['log']['consumer']): string {
  return generation === 1 ? name : `${name}-${generation}`
}

/** After a session this long, the next failure starts with a short delay again. */
const steadyMs = 5_000
const closeTimeoutMs = 5_000
/** How late a heartbeat may be. */
const lateMs = 1_000

/**
 * Keeps one session after another until it is closed or refused.
 *
 *   connecting ──▶ open ──ended──▶ partitions returned ──delay──▶ connecting …
 *       └── refused: `start` rejects the first time, `receive` from then on
 */
class StreamDriver implements LogDriver {
  readonly origin: string
  readonly commitsToBroker = true
  readonly subscription: LogSubscription
  readonly #declaration: StreamDeclaration
  readonly #address: StreamAddress
  readonly #group: string
  readonly #options: OpenOptions
  readonly #committer: OffsetCommitter
  readonly #deliveredTo = new Map<string, number>()
  readonly #keptBytesMax: number | undefined
  readonly #damagedReads = new Map<string, number>()
  readonly #knownNodes = new KnownNodes()
  readonly #fromLeader = new Set<string>()
  readonly #opened = Promise.withResolvers<void>()
  readonly #closed = new AbortController()
  #run: Promise<void> = Promise.resolve()
  #session: StreamSession | null = null
  #openings = 0

  constructor(
    declaration: StreamDeclaration,
    address: StreamAddress,
    group: string,
    options: OpenOptions,
    keptBytesMax: number | undefined,
  ) {
    this.#keptBytesMax = keptBytesMax
    this.origin = declaration.stream
    this.#declaration = declaration
    this.#address = address
    this.#group = group
    this.#options = options
    this.#committer = new OffsetCommitter({
      group,
      log: options.log,
      connectionOf: partition => this.#session?.connectionOf(partition) ?? null,
    })
    this.subscription = new StreamSubscription(options, this, partitions =>
      this.#session?.release(partitions),
    )
  }

  start(): Promise<void> {
    this.#run = this.#keepOpen()
    return this.#opened.promise
  }

  commit(moved: readonly PartitionProgress[]): Promise<{ readonly missed: number }> {
    return this.#committer.commit(moved)
  }

  onRoom(): void {
    this.#session?.topUp()
  }

  behind({ partition, position }: PartitionProgress): number | null {
    const newest = this.#session?.newestOf(partition) ?? null
    return newest === null ? null : Math.max(0, newest - Number(position))
  }

  /** Brokers send at least a heartbeat in every interval; a silent broker delivers nothing either. */
  stalled(): Stall | null {
    const forMs = this.#session?.silentMs ?? 0
    const owedMs = this.#address.timing.heartbeatS * 1_000 + lateMs
    return forMs > owedMs ? { forMs, reason: `no heartbeat from the broker of ${this.origin}` } : null
  }

  async close(): Promise<void> {
    this.#closed.abort()
    await within(closeTimeoutMs, this.#committer.flush())
    this.#committer.close()
    await this.#session?.close(closeTimeoutMs)
    await within(closeTimeoutMs, this.#run)
  }

  async #keepOpen(): Promise<void> {
    for (let failures = 0; !this.#closed.signal.aborted; ) {
      const began = performance.now()
      const end = await this.#oneSession()
      if (this.#closed.signal.aborted) break
      if (end instanceof OncewardError) return this.#refuse(end)
      this.#options.onEvent({ kind: 'disconnected', reason: end })
      failures = performance.now() - began >= steadyMs ? 0 : failures + 1
      await delay(reconnectDelayMs(failures), undefined, { signal: this.#closed.signal }).catch(() => {})
    }
    const unreached = `${this.origin}: closed before RabbitMQ was reachable. Nothing was consumed.`
    this.#opened.reject(new OncewardError('broker_unreachable', unreached))
  }

  /** The reason it ended; an error when a retry cannot help. */
  async #oneSession(): Promise<string | OncewardError> {
    const session = new StreamSession({
      ...this.#options,
      address: this.#address,
      declaration: this.#declaration,
      group: this.#group,
      subscription: this.subscription,
      committer: this.#committer,
      deliveredTo: this.#deliveredTo,
      damagedReads: this.#damagedReads,
      knownNodes: this.#knownNodes,
      fromLeader: this.#fromLeader,
      ...(this.#keptBytesMax !== undefined && { keptBytesMax: this.#keptBytesMax }),
    })
    this.#session = session
    try {
      await session.start()
      this.#openings++
      this.#options.onEvent({ kind: 'connected' })
      this.#opened.resolve()
      return await this.#after(session, await session.ended)
    } catch (error) {
      session.cut(errorText(error))
      return await this.#after(session, this.#isFinal(error) ? error : errorText(error))
    } finally {
      this.#session = null
    }
  }

  async #after<Reason extends string | OncewardError>(
    session: StreamSession,
    reason: Reason,
  ): Promise<Reason> {
    if (!this.#closed.signal.aborted) await session.handBack(errorText(reason))
    return reason
  }

  /**
   * A super stream that existed before may return; at the first start its absence is a mistake in the
   * contract.
   */
  #isFinal(error: unknown): error is OncewardError {
    if (!(error instanceof OncewardError) || error.code === 'ownership_lost') return false
    return this.#openings === 0 || error.details.missing !== true
  }

  #refuse(error: OncewardError): void {
    this.#opened.reject(error)
    this.subscription.fail(error)
  }
}

/**
 * Releases a partition when the store has another owner, because the broker still considers this process
 * active.
 */
class StreamSubscription extends LogSubscription {
  readonly #onDisowned: (partitions: readonly string[]) => void

  constructor(options: OpenOptions, driver: LogDriver, onDisowned: (partitions: readonly string[]) => void) {
    super(options, driver)
    this.#onDisowned = onDisowned
  }

  override disown(partitions: readonly string[]): void {
    super.disown(partitions)
    this.#onDisowned(partitions)
  }
}

/** Full jitter between 50 ms and 5 s. */
function reconnectDelayMs(failures: number): number {
  return Math.floor(50 + Math.random() * Math.min(5_000, 100 * 2 ** Math.min(failures, 6)))
}
