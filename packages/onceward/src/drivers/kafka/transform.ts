import { randomUUID } from 'node:crypto'
import { type Log, silent } from '../../environment.ts'
import { errorText, OncewardError } from '../../errors.ts'
import type { KafkaConnectionOptions } from './client/connection-options.ts'
import { KafkaConnections } from './client/connections.ts'
import type { Member } from './client/kafka-client.ts'
import type { TopicRecord } from './client/producer.ts'
import { type ConsumedOffset, TransactionalProducer, type TransactionMember } from './client/transactions.ts'
import { WireClient } from './client/wire-client.ts'
import { ExclusiveTransactions } from './exclusive-transactions.ts'
import { settingsOf, type TopicOptions, topic } from './topic.ts'
import { type InputBatch, TransformInput } from './transform-input.ts'
import {
  type KafkaTransformInput,
  type KafkaTransformOutput,
  toDeadLetter,
  toOutgoing,
} from './transform-records.ts'

/** The guarantee of a transform and its limits. */
export const kafkaTransformPromise = `Every input record's outputs and its consumed offset become visible in one Kafka transaction: a reader with isolation.level=read_committed sees each output exactly once, also when processes crash, freeze or lose partitions.
It covers Kafka only. Effects outside Kafka (a database, an HTTP call, a file) may be repeated, because the function runs again after a crash or a lost partition. Use a consumer with a store for such effects.
It covers one run of the group over the log: records written twice by their producer are two records. A group that was empty longer than the broker's offsets.retention.minutes loses its offsets and begins at \`start\` again.`

export interface KafkaTransformOptions
  extends KafkaConnectionOptions,
    Pick<TopicOptions, 'protocol' | 'sessionTimeoutMs' | 'rebalanceTimeoutMs' | 'heartbeatMs'> {
  /** The topic to read. */
  readonly from: string
  readonly group: string
  /** Where a group without committed offsets begins. */
  readonly start: NonNullable<TopicOptions['start']>
  /**
   * A stable name of this process, unique within the group. It is the group instance id and part of the
   * transactional id. After a restart, the process therefore regains its partitions and aborts its open
   * transaction at once. Without a name, both wait for their timeouts.
   */
  readonly instance?: string
  /**
   * Maps a record to its output records. It must be pure, because it may run again. The transform passes the
   * records of a partition in order, one at a time.
   */
  readonly map: (
    record: KafkaTransformInput,
  ) => readonly KafkaTransformOutput[] | Promise<readonly KafkaTransformOutput[]>
  /**
   * The topic for records on which `map` throws, written in the same transaction. Without it the transform
   * halts and commits nothing.
   */
  readonly deadLetter?: string
  /**
   * Maximum records in one transaction. Default 1000. A transaction costs about 20 ms regardless of its size.
   */
  readonly batchMax?: number
  /** The broker aborts a transaction that stays open longer than this. Default 10 s. */
  readonly transactionTimeoutMs?: number
  readonly log?: Log
}

export interface KafkaTransform {
  /** Resolves when the broker answers and the group is being joined; rejects with a `configuration` error. */
  start(): Promise<void>
  /** Ends the current transaction, begins no other, and leaves the group. */
  drain(): Promise<void>
  /**
   * Resolves when drained; rejects when the transform halted. In both cases every transaction is committed or
   * aborted.
   */
  readonly finished: Promise<void>
  readonly tally: {
    readonly records: number
    readonly outputs: number
    readonly transactions: number
    readonly aborted: number
  }
}

/**
 * Reads a topic and writes the mapped records, exactly once for readers of committed records. See
 * `kafkaTransformPromise`.
 */
export function createKafkaTransform(options: KafkaTransformOptions): KafkaTransform {
  return new Transform(options)
}

const halting: readonly OncewardError['code'][] = [
  'configuration',
  'consumer_halted',
  'publish_refused',
  'publish_unroutable',
  'records_lost',
  'usage',
]

/**
 *   records ──▶ map, outside any transaction ──▶ [ outputs, offsets, commit ] ──▶ next
 *                              └── refused, lost or unanswered ──▶ abort, resume at the group's offset
 *
 * The group fences zombies: the broker refuses the offsets of a replaced member, and the outputs with them.
 * One producer per process is enough for that. Its transactional id only selects the open transaction that
 * the broker aborts.
 */
class Transform implements KafkaTransform {
  readonly #options: KafkaTransformOptions
  readonly #settings: ReturnType<typeof settingsOf>
  readonly #log: Log
  readonly #connections: KafkaConnections
  readonly #client: WireClient
  readonly #producer: TransactionalProducer
  readonly #transactions: ExclusiveTransactions
  readonly #done = Promise.withResolvers<void>()
  readonly #stopping = new AbortController()
  readonly #tally = { records: 0, outputs: 0, transactions: 0, aborted: 0 }
  #input: TransformInput | null = null
  #failure: OncewardError | null = null
  /** Offsets of the last transaction that the broker has confirmed. */
  #lastOffsets: readonly ConsumedOffset[] = []

  constructor(options: KafkaTransformOptions) {
    const { from, group, start, instance, protocol, sessionTimeoutMs, rebalanceTimeoutMs, heartbeatMs } =
      options
    const { requestTimeoutMs, connectTimeoutMs } = options
    const timeouts = {
      sessionTimeoutMs,
      rebalanceTimeoutMs,
      heartbeatMs,
      requestTimeoutMs,
      connectTimeoutMs,
    }
    const given = { group, start, instance, protocol, ...timeouts }
    const declared = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    this.#options = options
    this.#log = options.log ?? silent
    this.#settings = settingsOf(topic(from, declared), { name: group, generation: 1 })
    this.#connections = new KafkaConnections(options)
    this.#client = new WireClient(options, this.#settings)
    this.#producer = new TransactionalProducer(this.#connections, {
      transactionalId: `onceward.${group}.${instance ?? randomUUID()}`,
      ...(options.transactionTimeoutMs !== undefined && {
        transactionTimeoutMs: options.transactionTimeoutMs,
      }),
    })
    this.#transactions = new ExclusiveTransactions(this.#producer, {
      log: this.#log,
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

  async start(): Promise<void> {
    try {
      await this.#connections.check()
      const { partitions } = await this.#connections.describeTopic(this.#options.from)
      await this.#producer.start()
      this.#input = new TransformInput({
        client: this.#client,
        settings: this.#settings,
        partitions: partitions.length,
        log: this.#log,
        begin: (member, offsets) => this.#begin(member, offsets),
        endPending: stable => this.#endPending(stable),
        onHalt: error => this.#halt(error),
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

  async #run(input: TransformInput): Promise<void> {
    for (;;) {
      const batch = await input.next(this.#options.batchMax ?? 1_000)
      if (batch === null) break
      const committed = await this.#settle(batch, input)
      input.conclude(batch, committed)
      if (!committed && !this.#stopping.signal.aborted) {
        this.#tally.aborted++
        input.rewind()
      }
    }
    await this.#close()
  }

  /**
   * Runs the function before it opens the transaction, so the transaction stays open for milliseconds only.
   */
  async #settle(batch: InputBatch, input: TransformInput): Promise<boolean> {
    try {
      const outputs: TopicRecord[] = []
      for (const record of batch.records) outputs.push(...(await this.#apply(record)))
      return await this.#transactions.run(() => this.#transact(batch, outputs, input))
    } catch (error) {
      if (halting.includes(codeOf(error))) this.#halt(error)
      return false
    }
  }

  /** True when the transaction is committed; false when another member owns one of its partitions. */
  async #transact(
    batch: InputBatch,
    outputs: readonly TopicRecord[],
    input: TransformInput,
  ): Promise<boolean> {
    if (!input.isOurs(batch)) return false
    if (outputs.length > 0) await this.#producer.send(outputs)
    await this.#producer.sendOffsets(this.#memberOf(batch.member), batch.offsets)
    if (!input.isOurs(batch)) {
      await this.#producer.abort()
      return false
    }
    await this.#producer.commit()
    this.#lastOffsets = batch.offsets
    this.#tally.transactions++
    this.#tally.records += batch.records.length
    this.#tally.outputs += outputs.length
    return true
  }

  async #begin(member: Member, offsets: readonly ConsumedOffset[]): Promise<void> {
    await this.#transactions.run(async () => {
      if (!member.live) throw new Error('no longer a member of the group')
      await this.#producer.sendOffsets(this.#memberOf(member), offsets)
      await this.#producer.commit()
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
    this.#log.warn('offsets of a committed transaction are still pending; committing them again', {
      group: this.#settings.group,
      offsets: mine.map(({ partition, next }) => `${partition}@${next}`),
    })
    const anonymous = { groupId: this.#settings.group, generation: -1, memberId: '', instanceId: null }
    await this.#transactions.run(async () => {
      await this.#producer.sendOffsets(anonymous, mine)
      await this.#producer.commit()
    })
  }

  #memberOf({ id: memberId, epoch: generation }: Member): TransactionMember {
    const { group: groupId, instance: instanceId } = this.#settings
    return { groupId, generation, memberId, instanceId }
  }

  async #apply(record: KafkaTransformInput): Promise<readonly TopicRecord[]> {
    const { map, deadLetter, group } = this.#options
    try {
      return (await map(record)).map(output => toOutgoing(output, record))
    } catch (error) {
      if (deadLetter !== undefined) return [toDeadLetter(record, error, { topic: deadLetter, group })]
      const { topic: name, partition, offset } = record
      throw new OncewardError(
        'consumer_halted',
        `The function failed on ${name}/${partition}@${offset}: ${errorText(error, 500)}. None of its outputs is visible and no offset is committed. Correct the function, or name a \`deadLetter\` topic, and start again.`,
        { cause: error },
      )
    }
  }

  #halt(error: unknown): void {
    this.#failure ??=
      error instanceof OncewardError
        ? error
        : new OncewardError('consumer_halted', `The transform failed: ${errorText(error, 500)}`, {
            cause: error,
          })
    this.#log.error('transform halted; no transaction is left open', { reason: this.#failure.message })
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

function codeOf(error: unknown): OncewardError['code'] {
  return error instanceof OncewardError ? error.code : 'consumer_halted'
}

function rivalled(instance: string, group: string): OncewardError {
  return new OncewardError(
    'configuration',
    `Another process of group ${group} runs as instance ${instance}: each fences the other's transactions. No transaction is left half committed. Give every process its own instance, or raise transactionTimeoutMs if transactions take long.`,
  )
}
