import type { Received } from '../../message/received.ts'
import type { Delivery } from '../../ports/source.ts'
import type { CounterKey, Labels, Metrics } from '../../telemetry/metrics.ts'
import { unlistedType } from './event-type.ts'

/** The labels of every count of a message: its source, and its type if the contract lists types. */
export interface MessageLabels {
  readonly consumer: string
  readonly 'messaging.destination.name': string
  readonly type?: string
}

/** Messages of one batch with the same source and type. */
export class MessageGroup {
  readonly labels: MessageLabels
  size = 0
  /** The processing times of its messages, if each has its own. */
  readonly seconds: number[] = []
  readonly #counts = new Map<string, Count>()

  constructor(labels: MessageLabels) {
    this.labels = labels
  }

  add<K extends CounterKey>(metric: K, labels: Omit<Labels<K>, keyof MessageLabels>, count = 1): void {
    const key = [metric, ...Object.values(labels)].join('\0')
    const known = this.#counts.get(key)
    if (known !== undefined) known.count += count
    else this.#counts.set(key, { metric, labels: { ...this.labels, ...(labels as object) }, count })
  }

  report(metrics: Metrics): void {
    for (const { metric, labels, count } of this.#counts.values()) metrics.add(metric, count, labels as never)
  }
}

interface Count {
  readonly metric: CounterKey
  readonly labels: object
  count: number
}

/**
 * Groups the messages of a batch by source and type, so that a metric is written once for each group. A
 * message of the same group as the one before it costs two comparisons.
 */
export class MessageGroups<M> {
  readonly #consumer: string
  readonly #typeOf: ((received: Received<M>) => string) | null
  readonly #groups = new Map<string, MessageGroup>()
  #last: MessageGroup | null = null

  constructor(consumer: string, typeOf: ((received: Received<M>) => string) | null) {
    this.#consumer = consumer
    this.#typeOf = typeOf
  }

  /** The group of this message, which is one larger now. */
  of(received: Received<M>): MessageGroup {
    const group = this.#find(received.delivery.origin, this.#typeOf?.(received))
    group.size++
    return group
  }

  /** The same for a delivery whose message is not read yet. */
  unread({ origin }: Delivery): void {
    this.#find(origin, this.#typeOf === null ? undefined : unlistedType).size++
  }

  [Symbol.iterator](): Iterator<MessageGroup> {
    return this.#groups.values()
  }

  #find(origin: string, type: string | undefined): MessageGroup {
    const last = this.#last
    if (last !== null && last.labels['messaging.destination.name'] === origin && last.labels.type === type)
      return last
    const key = type === undefined ? origin : `${origin}\0${type}`
    let group = this.#groups.get(key)
    if (group === undefined) {
      const of = { consumer: this.#consumer, 'messaging.destination.name': origin }
      group = new MessageGroup(type === undefined ? of : { ...of, type })
      this.#groups.set(key, group)
    }
    this.#last = group
    return group
  }
}
