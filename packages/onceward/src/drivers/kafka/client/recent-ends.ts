import { OncewardError } from '../../../errors.ts'
import type { KafkaConnections } from './connections.ts'
import { answerOf, KafkaError, troubleOf, troubleOfCode } from './kafka-error.ts'
import { describeProducersV0 } from './wire.ts'

/** A partition that a transaction has written to. */
interface WrittenPartition {
  readonly topic: string
  readonly partition: number
  /** The offset of the transaction's first record; null when no answer contained it. */
  readonly first: bigint | null
}

export type OutputPartition = Pick<WrittenPartition, 'topic' | 'partition'>

/** Null when a commit was not answered. */
type Outcome = 'committed' | 'aborted' | null

interface EndedPartition extends WrittenPartition {
  readonly outcome: Outcome
}

/** The last one may still be writing its markers when the next one begins. */
const kept = 2

/**
 * The partitions of the last transactions and how each transaction ended. A coordinator that finds no leader
 * for a partition skips its end marker there and reports success (KAFKA-20734, in 4.3). The records
 * then belong to the next transaction of the same producer: its abort would revoke committed records, and its
 * commit would publish aborted ones. The same holds for the offsets of a group.
 *
 * A partition has no leader only while its broker is unreachable, and then connections break.
 */
export class RecentEnds {
  #ended: (readonly EndedPartition[])[] = []
  #open = new Map<string, WrittenPartition>()
  /** By group: how its last transactions with offsets ended. */
  #offsets = new Map<string, readonly Outcome[]>()
  #openGroups = new Set<string>()

  get isEmpty(): boolean {
    return this.#ended.length === 0 && this.#offsets.size === 0
  }

  /**
   * Records of an ended transaction may still be open in the partition. Not once a record of the open
   * transaction is stored there: the ends before it are then written, or were skipped before it was sent.
   */
  mayBeOpen(topic: string, partition: number): boolean {
    const isHere = (one: OutputPartition) => one.topic === topic && one.partition === partition
    const isStored = [...this.#open.values()].some(one => isHere(one) && one.first !== null)
    return !isStored && this.#ended.flat().some(isHere)
  }

  sent(topic: string, partition: number): void {
    const name = `${topic}/${partition}`
    if (!this.#open.has(name)) this.#open.set(name, { topic, partition, first: null })
  }

  stored(topic: string, partition: number, first: bigint | null): void {
    const name = `${topic}/${partition}`
    if (this.#open.get(name)?.first === null) this.#open.set(name, { topic, partition, first })
  }

  sentOffsets(group: string): void {
    this.#openGroups.add(group)
  }

  end(outcome: Outcome): void {
    for (const group of this.#openGroups)
      this.#offsets.set(group, [...(this.#offsets.get(group) ?? []), outcome].slice(-kept))
    this.#openGroups = new Set()
    if (this.#open.size === 0) return
    const partitions = [...this.#open.values()].map(one => ({ ...one, outcome }))
    this.#open = new Map()
    this.#ended = [...this.#ended, partitions].slice(-kept)
  }

  forget(): void {
    this.#ended = []
    this.#offsets = new Map()
  }

  /** Groups whose last transactions all ended the same way, so that offsets left pending can be ended so. */
  groups(): readonly { readonly group: string; readonly outcome: NonNullable<Outcome> }[] {
    return [...this.#offsets].flatMap(([group, outcomes]) => {
      const [outcome = null, ...others] = new Set(outcomes)
      return outcome === null || others.length > 0 ? [] : { group, outcome }
    })
  }

  places(): readonly OutputPartition[] {
    return [...new Map(this.#ended.flat().map(one => [`${one.topic}/${one.partition}`, one])).values()]
  }

  /** How the transaction ended whose records begin at this offset; null when that is not known. */
  outcomeOf({ topic, partition }: OutputPartition, start: bigint): Outcome {
    const here = this.#ended.flat().filter(one => one.topic === topic && one.partition === partition)
    const exact = here.find(({ first }) => first === start)
    if (exact !== undefined) return exact.outcome
    const possible = new Set(here.filter(({ first }) => first === null).map(({ outcome }) => outcome))
    return possible.size === 1 ? [...possible][0]! : null
  }
}

/**
 * Where the producer's open transaction begins in a partition; null when none is open there. Also null when
 * the topic is gone or this user may not read it.
 */
export async function openTransactionStart(
  connections: KafkaConnections,
  { topic, partition }: OutputPartition,
  producer: bigint,
): Promise<bigint | null> {
  try {
    const { leader } = await connections.leaderOf(topic, partition)
    if (leader < 0) throw new KafkaError(troubleOfCode(5), `${topic}/${partition}`)
    const connection = await connections.connect('meta', leader)
    const wanted = [{ name: topic, partitionIndexes: [partition] }]
    const answer = await answerOf(describeProducersV0.api.async(connection, wanted))
    const found = answer.topics[0]!.partitions[0]!
    if (found.errorCode !== 0) throw new KafkaError(troubleOfCode(found.errorCode), `${topic}/${partition}`)
    const own = found.activeProducers.find(({ producerId }) => producerId === producer)
    return own === undefined || own.currentTxnStartOffset < 0n ? null : own.currentTxnStartOffset
  } catch (error) {
    if (error instanceof OncewardError && error.details.kafka === 'UNKNOWN_TOPIC_OR_PARTITION') return null
    if (troubleOf(error).kind === 'credentials') return null
    connections.forgetTopic(topic)
    throw error
  }
}
