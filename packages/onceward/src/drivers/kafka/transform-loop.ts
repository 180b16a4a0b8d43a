import { randomUUID } from 'node:crypto'
import { inert, type Reach } from '../../crash-points.ts'
import type { Log } from '../../environment.ts'
import { errorText, OncewardError } from '../../errors.ts'
import type { PartitionLag, Stall } from '../../ports/source.ts'
import type { TransformPlan, TransformWork } from '../../ports/transform.ts'
import type { KafkaConnectionOptions } from './client/connection-options.ts'
import { KafkaConnections } from './client/connections.ts'
import type { Member } from './client/kafka-client.ts'
import type { TopicRecord } from './client/producer.ts'
import { type ConsumedOffset, TransactionalProducer, type TransactionMember } from './client/transactions.ts'
import { WireClient } from './client/wire-client.ts'
import { ExclusiveTransactions } from './exclusive-transactions.ts'
import type { InputBatch } from './input-batch.ts'
import { settingsOf, type TopicOptions, topic } from './topic.ts'
import { TransformInput } from './transform-input.ts'

export interface TransformLoopOptions
  extends KafkaConnectionOptions,
    Pick<TopicOptions, 'protocol' | 'instance' | 'sessionTimeoutMs' | 'rebalanceTimeoutMs' | 'heartbeatMs'> {
  readonly topic: string
  readonly group: string
  readonly start?: TopicOptions['start']
  readonly batchMax?: number
  readonly transactionTimeoutMs?: number
  readonly work: TransformWork<TopicRecord>
  /** Delivers batches of the log that cannot be decoded to the work. Default: they halt the transform. */
  readonly keepsUnreadable?: boolean
  readonly log: Log
  readonly reach?: Reach
  /** Called when a transaction of records has ended; `reason` is null for a commit. */
  readonly onTransaction?: (reason: string | null, outputs: number) => void
}

const batchMax = 1_000

const halting: readonly OncewardError['code'][] = [
  'configuration',
  'consumer_halted',
  'publish_refused',
  'publish_unroutable',
  'records_lost',
  'usage',
]

/** An output that no topic takes: one record of the batch is the cause. */
const refusals: readonly OncewardError['code'][] = ['publish_refused', 'publish_unroutable']

/**
 *   records ──▶ work, outside any transaction ──▶ [ outputs, offsets, commit ] ──▶ next
 *                               └── refused, lost or unanswered ──▶ abort, resume at the group's offset
 *
 * The group fences zombies: the broker refuses the offsets of a replaced member, and the outputs with them.
 * One producer per process is enough for that. Its transactional id only selects the open transaction that
 * the broker aborts. When the broker refuses an output, batches are halved until one record is left as the
 * cause, and doubled again after each commit.
 */
export class TransformLoop {
  readonly #options: TransformLoopOptions
  readonly #settings: ReturnType<typeof settingsOf>
  readonly #connections: KafkaConnections
  readonly #client: WireClient
  readonly #producer: TransactionalProducer
  readonly #transactions: ExclusiveTransactions
  readonly #done = Promise.withResolvers<void>()
  readonly #stopping = new AbortController()
  readonly #tally = { records: 0, outputs: 0, transactions: 0, aborted: 0 }
  #input: TransformInput | null = null
  #failure: OncewardError | null = null
  /** Most records of the next batch. */
  #size: number
  /** Why the last transaction was not committed; null since the last commit. */
  #trouble: string | null = null
  /** Offsets of the last transaction that the broker has confirmed. */
  #lastOffsets: readonly ConsumedOffset[] = []

  constructor(options: TransformLoopOptions) {
    const { log, group, instance } = options
    this.#options = options
    this.#size = options.batchMax ?? batchMax
    this.#settings = settingsOf(topic(options.topic, declared(options)), { name: group, generation: 1 })
    this.#connections = new KafkaConnections(options)
    this.#client = new WireClient(options, this.#settings)
    this.#producer = new TransactionalProducer(this.#connections, {
      transactionalId: `onceward.${group}.${instance ?? randomUUID()}`,
      ...(options.reach !== undefined && { reach: options.reach }),
      ...(options.transactionTimeoutMs !== undefined && {
        transactionTimeoutMs: options.transactionTimeoutMs,
      }),
    })
    this.#transactions = new ExclusiveTransactions(this.#producer, {
      log,
      stopping: this.#stopping.signal,
      onRival: instance === undefined ? null : () => this.#halt(rivalled(instance, group)),
      onRefused: error => this.#halt(error),
    })
    this.#done.promise.catch(() => {})
  }

  get finished(): Promise<void> {
    return this.#done.promise
  }

  get tally() {
    return { ...this.#tally }
  }

  /** Why it makes no progress now; null while it does. */
  get trouble(): string | null {
    if (this.#input === null) return 'starting'
    if (!this.#input.connected) return 'the broker of its source does not answer'
    // Without records left to commit, an earlier failure has no successor that could end it.
    return this.#trouble !== null && this.lag().some(({ behind }) => behind !== 0) ? this.#trouble : null
  }

  lag(): readonly PartitionLag[] {
    return this.#input?.lag() ?? []
  }

  stalled(): Stall | null {
    return this.#input?.stalled() ?? null
  }

  async start(): Promise<void> {
    try {
      await this.#connections.check()
      const { partitions } = await this.#connections.describeTopic(this.#options.topic)
      await this.#producer.start()
      this.#input = new TransformInput({
        client: this.#client,
        settings: this.#settings,
        partitions: partitions.length,
        log: this.#options.log,
        begin: (member, offsets) => this.#begin(member, offsets),
        endPending: stable => this.#endPending(stable),
        onHalt: error => this.#halt(error),
        onReceived: count => this.#options.work.received(count),
        keepsUnreadable: this.#options.keepsUnreadable === true,
      })
      void this.#run(this.#input).catch(error => {
        this.#halt(error)
        return this.#close()
      })
    } catch (error) {
      await this.#close()
      throw error
    }
  }

  async drain(): Promise<void> {
    this.#stopping.abort()
    if (this.#input === null) await this.#close()
    else this.#input.stop()
    await this.#done.promise
  }

  /** Leaves at once: the broker aborts the open transaction, and the records are read again. */
  leave(): void {
    this.#stopping.abort()
    this.#input?.stop()
    this.#producer.close()
  }

  async #run(input: TransformInput): Promise<void> {
    const { work } = this.#options
    while (!this.#stopping.signal.aborted) {
      if (work.room === 0) {
        await input.pause(work.waitMs)
        continue
      }
      const batch = await input.next(Math.min(this.#size, work.room))
      if (batch === null) break
      await this.#settle(batch, input)
    }
    await this.#close()
  }

  async #settle(batch: InputBatch, input: TransformInput): Promise<void> {
    let done = batch
    const commit = async (plan: TransformPlan<TopicRecord>) => {
      done = input.narrow(batch, plan.stops)
      const committed =
        done.leases.size === 0 || (await this.#transactions.run(() => this.#transact(done, plan, input)))
      if (committed && plan.halt !== null) this.#halt(plan.halt)
      return committed
    }
    const committed = await this.#options.work.run(batch.records, commit).catch(error => {
      if (refusals.includes(codeOf(error)) && batch.records.length > 1)
        this.#size = Math.ceil(batch.records.length / 2)
      else if (halting.includes(codeOf(error)) && !this.#stopping.signal.aborted) this.#halt(error)
      this.#trouble = errorText(error, 300)
      this.#options.onTransaction?.(codeOf(error), 0)
      return false
    })
    input.conclude(done, committed)
    if (committed || this.#stopping.signal.aborted) return
    this.#tally.aborted++
    input.rewind()
  }

  /** True when the transaction is committed; false when another member owns one of its partitions. */
  async #transact(
    batch: InputBatch,
    { outputs }: TransformPlan<TopicRecord>,
    input: TransformInput,
  ): Promise<boolean> {
    const { reach = inert, onTransaction } = this.#options
    if (!input.isOurs(batch)) return false
    if (outputs.length > 0) await this.#producer.send(outputs)
    reach('transform.produced')
    await this.#producer.sendOffsets(this.#memberOf(batch.member), batch.offsets)
    reach('transform.positioned')
    if (!input.isOurs(batch)) {
      await this.#producer.abort()
      onTransaction?.('ownership_lost', 0)
      return false
    }
    await this.#commit()
    reach('transform.committed')
    this.#lastOffsets = batch.offsets
    this.#trouble = null
    this.#size = Math.min(this.#options.batchMax ?? batchMax, this.#size * 2)
    this.#tally.transactions++
    this.#tally.records += batch.records.length
    this.#tally.outputs += outputs.length
    onTransaction?.(null, outputs.length)
    return true
  }

  /** Asks until it is answered: an unknown outcome could only be guessed from the group's offsets. */
  async #commit(): Promise<void> {
    for (;;) {
      try {
        return await this.#producer.commit()
      } catch (error) {
        if (this.#producer.state !== 'unanswered' || this.#stopping.signal.aborted) throw error
        this.#trouble = errorText(error, 300)
        this.#options.log.warn('a commit is not answered; asking again', { reason: this.#trouble })
      }
    }
  }

  async #begin(member: Member, offsets: readonly ConsumedOffset[]): Promise<void> {
    await this.#transactions.run(async () => {
      if (!member.live) throw new Error('no longer a member of the group')
      await this.#producer.sendOffsets(this.#memberOf(member), offsets)
      await this.#commit()
      this.#lastOffsets = offsets
    })
  }

  /**
   * Commits the offsets of the last transaction again when they are still pending.
   *
   * If a broker is killed after it answers a commit but before it writes the markers, it may skip the markers
   * after its restart. Its coordinator looks for the partitions before they are loaded and treats them as
   * deleted (seen with Kafka 4.3). The offsets then stay pending and the whole group waits. The end of any
   * later transaction of the same producer resolves them. While they are pending no other member has read
   * further, so the request names no member. A refusal would lead to an abort, and an abort would revert the
   * committed offsets.
   */
  async #endPending(stable: ReadonlyMap<number, number>): Promise<void> {
    const mine = this.#lastOffsets
    const isPending = mine.some(
      ({ partition, next }) => Number(next) > (stable.get(partition) ?? Number.POSITIVE_INFINITY),
    )
    if (!isPending) return
    this.#options.log.warn('offsets of a committed transaction are still pending; committing them again', {
      group: this.#settings.group,
      offsets: mine.map(({ partition, next }) => `${partition}@${next}`),
    })
    const anonymous = { groupId: this.#settings.group, generation: -1, memberId: '', instanceId: null }
    await this.#transactions.run(async () => {
      await this.#producer.sendOffsets(anonymous, mine)
      await this.#commit()
    })
  }

  #memberOf({ id: memberId, epoch: generation }: Member): TransactionMember {
    const { group: groupId, instance: instanceId } = this.#settings
    return { groupId, generation, memberId, instanceId }
  }

  #halt(error: unknown): void {
    this.#failure ??=
      error instanceof OncewardError
        ? error
        : new OncewardError('consumer_halted', `The transform failed: ${errorText(error, 500)}`, {
            cause: error,
          })
    this.#options.log.error('transform halted; no transaction is left open', {
      reason: this.#failure.message,
    })
    this.#stopping.abort()
    this.#input?.stop()
  }

  async #close(): Promise<void> {
    this.#producer.close()
    if (this.#input !== null) await this.#input.close().catch(() => {})
    else await this.#client.close()
    await this.#connections.close()
    if (this.#failure === null) this.#done.resolve()
    else this.#done.reject(this.#failure)
  }
}

function declared(options: TransformLoopOptions): TopicOptions {
  const { group, start, instance, protocol, sessionTimeoutMs, rebalanceTimeoutMs, heartbeatMs } = options
  const { requestTimeoutMs, connectTimeoutMs } = options
  const timeouts = { sessionTimeoutMs, rebalanceTimeoutMs, heartbeatMs, requestTimeoutMs, connectTimeoutMs }
  const given = { group, start, instance, protocol, ...timeouts }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function codeOf(error: unknown): OncewardError['code'] {
  return error instanceof OncewardError ? error.code : 'consumer_halted'
}

function rivalled(instance: string, group: string): OncewardError {
  return new OncewardError(
    'configuration',
    `Another process of group ${group} runs as instance ${instance}: each fences the other's transactions. No transaction is left half committed. Give every process its own instance, or raise transactionTimeoutMs if transactions take long.`,
  )
}
