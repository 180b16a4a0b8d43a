import { setTimeout as sleep } from 'node:timers/promises'
import { inert, type Reach } from '../../../crash-points.ts'
import { OncewardError } from '../../../errors.ts'
import type { KafkaConnections } from './connections.ts'
import { answerOf, KafkaError, toOncewardError, troubleOf, troubleOfCode } from './kafka-error.ts'
import type { ProducerIdentity, RecordPlace } from './partition-line.ts'
import { PartitionLines, type ProducerOptions, type TopicRecord } from './producer.ts'
import { openTransactionStart, RecentEnds } from './recent-ends.ts'
import { endTxnV5, txnOffsetCommitV5 } from './transaction-requests.ts'
import { addOffsetsToTxnV4, addPartitionsToTxnV3, type Connection, initProducerIdV5 } from './wire.ts'

export interface TransactionalOptions extends ProducerOptions {
  /**
   * The producer that started last with this id is the only one that can commit. The broker aborts
   * transactions that its predecessors left open.
   */
  readonly transactionalId: string
  /**
   * The broker aborts a transaction that stays open longer. Readers of committed records wait behind an open
   * one. Default 10 s.
   */
  readonly transactionTimeoutMs?: number
  readonly reach?: Reach
}

/**
 * The group member that consumed the records. Without generation and member id the broker would accept the
 * offsets of any process.
 */
export interface TransactionMember {
  readonly groupId: string
  readonly generation: number
  readonly memberId: string
  readonly instanceId: string | null
}

export interface ConsumedOffset {
  readonly topic: string
  readonly partition: number
  /** The next offset to read. */
  readonly next: bigint
  readonly leaderEpoch: number
  /** Stored with the offset. */
  readonly metadata: string
}

/**
 *   new ──start──▶ ready ──send, sendOffsets──▶ open ──commit, abort──▶ ready
 *                                                ├──one was refused──▶ broken ──abort──▶ ready
 *                                                └──no answer to a commit──▶ unanswered ──commit──▶ ready
 *   any ──fenced, or an end that failed──▶ lost: only a new producer can determine the outcome
 */
type State = 'new' | 'ready' | 'open' | 'broken' | 'unanswered' | 'lost'

/**
 * Kafka's transactions, version 2: partitions and groups need no announcement, and every end raises the
 * epoch. One transaction at a time. Its records and offsets become visible together at its commit, or never.
 */
export class TransactionalProducer {
  readonly #connections: KafkaConnections
  readonly #options: TransactionalOptions
  readonly #lines: PartitionLines
  readonly #closed = new AbortController()
  readonly #recent = new RecentEnds()
  /** How many connections had broken before the oldest transaction of `#recent`. */
  #breaks = 0
  #state: State = 'new'
  #identity: ProducerIdentity = { producerId: -1n, producerEpoch: -1, transactionalId: null }

  constructor(connections: KafkaConnections, options: TransactionalOptions) {
    this.#connections = connections
    this.#options = options
    this.#lines = new PartitionLines({
      connections,
      session: {
        current: async () => this.#identity,
        giveUp: () => {},
        onSend: (topic, partition) => this.#recent.sent(topic, partition),
        onStored: (topic, partition, offset) => this.#recent.stored(topic, partition, offset),
        // Sent again, the batch would continue a transaction whose markers were skipped.
        mayRepeat: (topic, partition) => !this.#isDoubtful || !this.#recent.mayBeOpen(topic, partition),
      },
      compression: options.compression ?? 'none',
      deliveryTimeoutMs: this.#waitMs,
      closed: this.#closed.signal,
    })
  }

  get state(): State {
    return this.#state
  }

  /**
   * Fences every producer that started earlier with the same id. Call it again after `lost`: a fenced
   * producer then replaces the one that fenced it. Also ends `unanswered`.
   */
  async start(): Promise<void> {
    const { transactionalId, transactionTimeoutMs = 10_000 } = this.#options
    const { transactionVersion } = await this.#connections.check()
    if (transactionVersion < 2) {
      throw new OncewardError(
        'configuration',
        `The cluster runs transactions of version ${transactionVersion}; 2 is needed. Nothing was read or written. Raise it with: kafka-features.sh upgrade --feature transaction.version=2`,
      )
    }
    const started = await this.#atCoordinator('Starting transactions', connection =>
      initProducerIdV5.api.async(connection, transactionalId, transactionTimeoutMs),
    )
    this.#recent.end(this.#state === 'unanswered' ? null : 'aborted')
    this.#adopt(started)
  }

  /** Rejects when one record was not stored: the transaction can then only be aborted. */
  async send(records: readonly TopicRecord[]): Promise<readonly RecordPlace[]> {
    await this.#enter()
    const results = await this.#lines.send(records)
    const failed = results.find(result => result instanceof OncewardError)
    if (failed instanceof OncewardError) throw this.#broken(failed)
    return results as readonly RecordPlace[]
  }

  /** Rejects when the group refuses the member: the transaction can then only be aborted. */
  async sendOffsets(member: TransactionMember, offsets: readonly ConsumedOffset[]): Promise<void> {
    await this.#enter()
    this.#recent.sentOffsets(member.groupId)
    try {
      await this.#retry(() =>
        this.#connections.atCoordinator('group', member.groupId, 'commit', async connection => {
          const { producerId, producerEpoch } = this.#identity
          const { groupId, generation, memberId, instanceId } = member
          const { transactionalId } = this.#options
          const asked = txnOffsetCommitV5.async(
            connection,
            transactionalId,
            groupId,
            producerId,
            producerEpoch,
            generation,
            memberId,
            instanceId,
            byTopic(offsets),
          )
          for (const { name, partitions } of (await answerOf(asked)).topics) {
            for (const { errorCode, partitionIndex } of partitions) {
              if (errorCode !== 0)
                throw new KafkaError(troubleOfCode(errorCode), `offset of ${name}/${partitionIndex}`)
            }
          }
        }),
      )
    } catch (error) {
      throw this.#broken(error)
    }
  }

  /**
   * Rejects with `commit_not_confirmed` when no answer arrives: the outcome is unknown. While the state is
   * `unanswered`, another call asks again and gets the outcome.
   */
  async commit(): Promise<void> {
    if (this.#state === 'ready') return
    if (this.#state !== 'open' && this.#state !== 'unanswered') throw this.#unusable()
    await this.#end(true)
  }

  async abort(): Promise<void> {
    if (this.#state === 'ready') return
    if (this.#state !== 'open' && this.#state !== 'broken') throw this.#unusable()
    await this.#end(false)
  }

  /** Leaves an open transaction to its timeout, or to the next producer with the same id. */
  close(): void {
    this.#state = 'lost'
    this.#closed.abort()
  }

  get #waitMs(): number {
    return this.#options.deliveryTimeoutMs ?? 30_000
  }

  async #enter(): Promise<void> {
    if (this.#recent.isEmpty && this.#state === 'ready') this.#breaks = this.#connections.breaks
    if (this.#state === 'ready' && this.#isDoubtful) await this.#repeatEnds()
    if (this.#state !== 'ready' && this.#state !== 'open') throw this.#unusable()
    this.#state = 'open'
  }

  /** A partition of the last transactions may have been without a leader when they ended. */
  get #isDoubtful(): boolean {
    return !this.#recent.isEmpty && this.#breaks !== this.#connections.breaks
  }

  /** Ends the last transactions again where the broker may have skipped their markers. */
  async #repeatEnds(): Promise<void> {
    const { breaks } = this.#connections
    const { transactionalId } = this.#options
    const { producerId } = this.#identity
    try {
      for (const place of this.#recent.places()) {
        const start = await this.#retry(() => openTransactionStart(this.#connections, place, producerId))
        const outcome = start === null ? null : this.#recent.outcomeOf(place, start)
        if (outcome === null) continue
        const topics = [{ name: place.topic, partitions: [place.partition] }]
        await this.#repeatEnd(outcome === 'committed', (connection, producerEpoch) =>
          addPartitionsToTxnV3.api.async(connection, [
            { transactionalId, producerId, producerEpoch, verifyOnly: false, topics },
          ]),
        )
      }
      // Adds the group without an offset: the end changes nothing unless offsets are pending.
      for (const { group, outcome } of this.#recent.groups())
        await this.#repeatEnd(outcome === 'committed', (connection, producerEpoch) =>
          addOffsetsToTxnV4.api.async(connection, transactionalId, producerId, producerEpoch, group),
        )
    } catch (error) {
      const doing = `Checking the last transaction of ${transactionalId}`
      throw toOncewardError(error, doing, 'Nothing was sent.')
    }
    this.#recent.forget()
    this.#breaks = breaks
  }

  async #repeatEnd(
    commit: boolean,
    add: (connection: Connection, producerEpoch: number) => Promise<unknown>,
  ): Promise<void> {
    const { producerEpoch } = this.#identity
    // Refused as concurrent while the last transaction is still writing its markers.
    await this.#atCoordinator('Adding a partition', connection => add(connection, producerEpoch))
    const { reach = inert } = this.#options
    reach('transform.repairing')
    // Any other end would revoke the committed records.
    while (!(await this.#isEnded(commit)));
  }

  /** False when the end was not answered. */
  async #isEnded(commit: boolean): Promise<boolean> {
    try {
      await this.#requestEnd(commit)
      return true
    } catch (error) {
      if (error instanceof OncewardError && error.details.isUnanswered === true) return false
      throw error
    }
  }

  async #end(commit: boolean): Promise<void> {
    try {
      await this.#requestEnd(commit)
      this.#recent.end(commit ? 'committed' : 'aborted')
    } catch (error) {
      const isFenced = error instanceof OncewardError && error.code === 'producer_fenced'
      if (this.#state === 'lost') this.#recent.end(commit && !isFenced ? null : 'aborted')
      throw error
    }
  }

  async #requestEnd(commit: boolean): Promise<void> {
    const { transactionalId } = this.#options
    const { producerId, producerEpoch } = this.#identity
    try {
      const ended = await this.#atCoordinator(commit ? 'Committing' : 'Aborting', connection =>
        endTxnV5.async(connection, transactionalId, producerId, producerEpoch, commit),
      )
      this.#adopt(ended)
    } catch (error) {
      const trouble = troubleOf((error as Error).cause ?? error)
      const isUnanswered = trouble.retriable && trouble.kind !== 'fenced' && !this.#closed.signal.aborted
      this.#state = commit && isUnanswered ? 'unanswered' : 'lost'
      if (trouble.kind === 'fenced') throw fenced(transactionalId, error)
      throw new OncewardError(
        'commit_not_confirmed',
        `Kafka did not answer the ${commit ? 'commit' : 'abort'} of a transaction of ${transactionalId}: ${trouble.text}. It took effect completely or not at all. Start a new producer with the same id and read the group's offsets to find the outcome.`,
        { cause: error, details: { kafka: trouble.name, isUnanswered } },
      )
    }
  }

  #adopt({ producerId, producerEpoch }: { producerId: bigint; producerEpoch: number }): void {
    this.#identity = { producerId, producerEpoch, transactionalId: this.#options.transactionalId }
    this.#state = 'ready'
  }

  #broken(error: unknown): OncewardError {
    const { transactionalId } = this.#options
    const trouble =
      error instanceof OncewardError && error.cause !== undefined ? troubleOf(error.cause) : troubleOf(error)
    if (trouble.kind === 'fenced' && trouble.name !== 'FENCED_INSTANCE_ID') {
      this.#state = 'lost'
      return fenced(transactionalId, error)
    }
    this.#state = 'broken'
    if (trouble.kind === 'member' || trouble.name === 'FENCED_INSTANCE_ID') {
      return new OncewardError(
        'ownership_lost',
        `The group no longer accepts this member: ${trouble.text}. Nothing of this transaction is visible; abort it. The new owner reads the same records.`,
        { cause: error, details: { kafka: trouble.name } },
      )
    }
    return toOncewardError(
      error,
      `Writing in a transaction of ${transactionalId}`,
      'Nothing of this transaction is visible; abort it.',
    )
  }

  #unusable(): OncewardError {
    const why = { new: 'was not started', ready: 'has no transaction', open: 'already has one open' }
    const state = this.#state === 'broken' ? 'can only abort now' : 'is lost: start it again'
    return new OncewardError(
      'tx_closed',
      `The transactional producer ${this.#options.transactionalId} ${why[this.#state as 'new'] ?? state}. Nothing was sent.`,
    )
  }

  async #atCoordinator<T>(doing: string, request: (connection: Connection) => Promise<T>): Promise<T> {
    const { transactionalId } = this.#options
    try {
      return await this.#retry(() =>
        this.#connections.atCoordinator('transaction', transactionalId, 'produce', request),
      )
    } catch (error) {
      throw toOncewardError(error, `${doing} as ${transactionalId}`, 'Nothing else was sent.')
    }
  }

  /** A request with the same epoch is idempotent, so it may be repeated even if the first one arrived. */
  async #retry<T>(attempt: () => Promise<T>): Promise<T> {
    const endMs = performance.now() + this.#waitMs
    for (let pauseMs = 5; ; pauseMs = Math.min(500, pauseMs * 2)) {
      try {
        return await attempt()
      } catch (error) {
        if (!troubleOf(error).retriable || this.#closed.signal.aborted) throw error
        if (performance.now() + pauseMs > endMs) throw error
        await sleep(pauseMs, undefined, { signal: this.#closed.signal }).catch(() => {})
      }
    }
  }
}

function fenced(transactionalId: string, cause: unknown): OncewardError {
  return new OncewardError(
    'producer_fenced',
    `Another producer has started as ${transactionalId}, or the broker timed the transaction out. Nothing of this transaction is or will be visible. Stop this producer, or start it again if it should replace the other.`,
    { cause },
  )
}

function byTopic(offsets: readonly ConsumedOffset[]) {
  const topics = Map.groupBy(offsets, ({ topic }) => topic)
  return [...topics].map(([name, some]) => ({
    name,
    partitions: some.map(({ partition, next, leaderEpoch, metadata }) => ({
      partitionIndex: partition,
      committedOffset: next,
      committedLeaderEpoch: leaderEpoch,
      committedMetadata: metadata,
    })),
  }))
}
