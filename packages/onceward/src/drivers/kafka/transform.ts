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

/** What a transform promises, and what it does not. */
export const kafkaTransformPromise = `Every input record's outputs and its consumed offset become visible in one Kafka transaction: a reader with isolation.level=read_committed sees each output exactly once, whatever crashes, freezes or moves.
It covers Kafka only. What the function does anywhere else (a database, an HTTP call, a file) may happen again, because the function runs again after a crash or a lost partition: use a consumer with a store for such effects.
It covers one run of the group over the log: records written twice by their producer are two records, and a group that stood empty longer than the broker's offsets.retention.minutes has lost its place and begins as it did the first time.`

export interface KafkaTransformOptions
  extends KafkaConnectionOptions,
    Pick<TopicOptions, 'protocol' | 'sessionTimeoutMs' | 'rebalanceTimeoutMs' | 'heartbeatMs'> {
  /** The topic to read. */
  readonly from: string
  readonly group: string
  /** Where a group begins that has never been here. */
  readonly start: NonNullable<TopicOptions['start']>
  /**
   * A lasting name of this process, another in every process of the group: it is the group instance and part
   * of the transactional id, so a restart takes its partitions back and ends at once what it left open.
   * Without one, both wait for their time-outs.
   */
  readonly instance?: string
  /**
   * From a record to what follows from it: pure, because it may run again. Records of a partition come in
   * order, one at a time.
   */
  readonly map: (
    record: KafkaTransformInput,
  ) => readonly KafkaTransformOutput[] | Promise<readonly KafkaTransformOutput[]>
  /**
   * Where records go on which `map` throws, in the same transaction. Without one the transform halts and
   * commits nothing.
   */
  readonly deadLetter?: string
  /**
   * Records in one transaction at most. Default 1000. A transaction costs about 20 ms, however many it holds.
   */
  readonly batchMax?: number
  /** An open transaction that stands still longer is aborted by the broker. Default 10 s. */
  readonly transactionTimeoutMs?: number
  readonly log?: Log
}

export interface KafkaTransform {
  /**
   * Resolves when the broker is reached and the group is being joined; rejects with a `configuration` error.
   */
  start(): Promise<void>
  /** Ends the transaction it is in, begins no other, and leaves the group. */
  drain(): Promise<void>
  /** Resolves when drained; rejects when it had to stop by itself. Nothing is half done either way. */
  readonly finished: Promise<void>
  readonly tally: {
    readonly records: number
    readonly outputs: number
    readonly transactions: number
    readonly aborted: number
  }
}

/**
 * Reads a topic and writes what follows from it, exactly once for readers of committed records. See
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
 *   records ──▶ map, outside of any transaction ──▶ [ outputs, offsets, commit ] ──▶ next
 *                                                       └── refused, lost, or unanswered ──▶ abort or start anew, begin where the group stands
 *
 * Zombies are fenced by the group: the broker refuses the offsets of a member that has been replaced, and
 * with them the outputs. One producer per process is enough for that; its transactional id only says whose
 * open transaction is to be aborted.
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
  /** Of the last transaction that the broker has confirmed. */
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

  /** The function runs before the transaction is opened, which then stands for milliseconds. */
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

  /** True when all of it is committed; false when a partition of it is another's by now. */
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
      if (!member.live) throw new Error('not a member of the group any more')
      await this.#producer.sendOffsets(this.#memberOf(member), offsets)
      await this.#producer.commit()
      this.#lastOffsets = offsets
    })
  }

  /**
   * A broker that is killed between the answer to a commit and its markers may skip the markers when it comes
   * back: its coordinator looks for the partitions before it knows them, and takes them for deleted (seen
   * with Kafka 4.3). The offsets then stay pending for ever, and the whole group waits. The end of any later
   * transaction of the same producer ends them, so the same offsets are committed once more. While they are
   * pending nobody else has read on, so no member is named: a refusal would end in an abort, and that would
   * undo what was committed.
   */
  async #endPending(stable: ReadonlyMap<number, number>): Promise<void> {
    const mine = this.#lastOffsets
    const isPending = mine.some(
      ({ partition, next }) => Number(next) > (stable.get(partition) ?? Number.POSITIVE_INFINITY),
    )
    if (!isPending) return
    this.#log.warn('offsets of a committed transaction are still pending; they are committed again', {
      group: this.#settings.group,
      offsets: mine.map(({ partition, next }) => `${partition}@${next}`),
    })
    const nobody = { groupId: this.#settings.group, generation: -1, memberId: '', instanceId: null }
    await this.#transactions.run(async () => {
      await this.#producer.sendOffsets(nobody, mine)
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
        `The function failed on ${name}/${partition}@${offset}: ${errorText(error, 500)}. Nothing of it is visible or committed. Correct the function, or name a \`deadLetter\` topic, and start again.`,
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
    this.#log.error('transform halted; nothing is half done', { reason: this.#failure.message })
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
    `Another process of group ${group} runs as instance ${instance}: each fences the other's transactions. Nothing is half done. Give every process an instance of its own, or raise transactionTimeoutMs if transactions take long.`,
  )
}
