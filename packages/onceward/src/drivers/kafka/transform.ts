import { type Log, silent } from '../../environment.ts'
import { errorText, OncewardError } from '../../errors.ts'
import type { Delivery } from '../../ports/source.ts'
import type {
  KafkaTransformInput,
  KafkaTransformOutput,
  TransformPlan,
  TransformWork,
} from '../../ports/transform.ts'
import type { KafkaConnectionOptions } from './client/connection-options.ts'
import type { TopicRecord } from './client/producer.ts'
import type { TopicOptions } from './topic.ts'
import { TransformLoop } from './transform-loop.ts'
import { toDeadLetter, toInput, toOutgoing } from './transform-records.ts'

/** The guarantee of a transform and its limits. */
export const kafkaTransformPromise = `Every input record's outputs and its consumed offset become visible in one Kafka transaction: a reader with isolation.level=read_committed sees each output exactly once, also when processes crash, freeze or lose partitions.
It covers Kafka only. Effects outside Kafka (a database, an HTTP call, a file) may be repeated, because the function runs again after a crash or a lost partition. Use a consumer with a store for such effects.
It covers one run of the group over the log: records written twice by their producer are two records. A group that was empty longer than the broker's offsets.retention.minutes loses its offsets and begins at \`start\` again.`

/** What a transform reads, writes and calls. */
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

/** A transform that is driven by hand. `runTransform` drives one with retries and metrics. */
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
 * `kafkaTransformPromise`. It has no failure policy and no metrics: those come with `defineTransform` and
 * `runTransform`.
 */
export function createKafkaTransform(options: KafkaTransformOptions): KafkaTransform {
  const { from, log = silent } = options
  return new TransformLoop({ ...options, topic: from, log, work: new PlainWork(options) })
}

/** Calls the function for every record; a failure goes to the dead-letter topic, or halts. */
class PlainWork implements TransformWork<TopicRecord> {
  readonly room = Number.POSITIVE_INFINITY
  readonly waitMs = 0
  readonly #options: KafkaTransformOptions

  constructor(options: KafkaTransformOptions) {
    this.#options = options
  }

  received(): void {}

  async run(
    batch: readonly Delivery[],
    commit: (plan: TransformPlan<TopicRecord>) => Promise<boolean>,
  ): Promise<boolean> {
    const outputs: TopicRecord[] = []
    for (const delivery of batch) outputs.push(...(await this.#apply(toInput(delivery))))
    return commit({ outputs, stops: new Map(), halt: null })
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
}
