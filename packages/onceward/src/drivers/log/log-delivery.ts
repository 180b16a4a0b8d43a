import { bareMap } from '../../message/bare-map.ts'
import { type LogRecord, recordWith } from '../../ports/log-record.ts'
import type { Delivery, DeliveryProperties, Place } from '../../ports/source.ts'
import type { Entry, PartitionProgress } from './partition-progress.ts'

/**
 * A delivered record. Rarely read parts are made on demand: one object less per record, and no unused texts.
 */
export class LogDelivery implements Delivery, Entry {
  body: Buffer
  readonly origin: string
  readonly progress: PartitionProgress
  readonly deliveryCount = 0
  settled = false
  /** The last progress query in which it counted as done. */
  doneIn = 0
  firstSeenMs: number | null = null
  #record: LogRecord
  #apart = false

  constructor(record: LogRecord, progress: PartitionProgress, origin: string) {
    this.body = record.body
    this.origin = record.origin ?? origin
    this.progress = progress
    this.#record = record
  }

  /**
   * A fetch is a megabyte, and a record of a hundred bytes keeps all of it: 2,000 held records kept two
   * gigabytes.
   */
  keepApart(): void {
    if (this.#apart) return
    this.#apart = true
    this.body = Buffer.from(this.body)
    this.#record = recordWith(this.#record, { body: this.body, headers: copyOf(this.#record.headers) })
  }

  get token(): Entry {
    return this
  }

  get bytes(): number {
    return this.body.length
  }

  get next(): string {
    return this.#record.next
  }

  set next(next: string) {
    this.#record.next = next
  }

  get timestampMs(): number | null {
    return this.#record.properties.timestampMs ?? this.firstSeenMs
  }

  get headers(): Readonly<Record<string, unknown>> {
    return this.#record.headers
  }

  get properties(): DeliveryProperties {
    return this.#record.properties
  }

  get position(): string {
    return this.#record.position
  }

  get partition(): string {
    return this.progress.partition
  }

  get place(): Place {
    const { incarnation, epoch } = this.progress
    const { at, next, since } = this.#record
    return since === undefined ? { incarnation, epoch, at, next } : { incarnation, epoch, at, next, since }
  }

  get key(): string | null {
    return this.#record.key
  }

  get redelivered(): boolean {
    return this.#record.redelivered
  }

  get archived(): LogRecord['archived'] {
    return this.#record.archived
  }
}

function copyOf(headers: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const copy = bareMap()
  for (const [name, value] of Object.entries(headers))
    copy[name] = value instanceof Uint8Array ? Buffer.from(value) : value
  return copy
}
